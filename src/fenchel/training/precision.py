"""Numbers that the working precision holds: single by default, double where JAX was told so."""

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from fenchel.ascent.blocks import leaf_name
from fenchel.errors import require


def require_held(field: str, value: Any) -> None:
    """Raise where a finite number would become infinite, or one that is not zero would become zero.

    >>> require_held("risk_aversion", 0.5)
    """
    kind, size = np.finfo(jnp.result_type(float)), abs(float(value))
    least, most = float(kind.tiny), float(kind.max)
    fits = size == 0 or not math.isfinite(size) or least <= size <= most
    remedy = f"is outside the range of {kind.dtype}, {least:.2g} to {most:.2g}: choose a number inside"
    require(fits, field, value, remedy)


def require_all_held(tree: PyTree) -> None:
    """The same for every plain number of an objective or a solver."""
    for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]:
        if isinstance(leaf, int | float) and not eqx.is_array(leaf):
            require_held(leaf_name(path), leaf)
