"""Gymnasium spaces in the float type that JAX is set to."""

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Box


def float_box(low: Sequence[float], high: Sequence[float]) -> Box:
    """A box of vectors between two bounds, rounded to that type."""
    dtype = np.dtype(jnp.result_type(float))
    return Box(np.asarray(low, dtype), np.asarray(high, dtype), dtype=dtype.type)
