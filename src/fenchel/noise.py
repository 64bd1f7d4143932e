"""Random numbers, drawn in bulk before they are used.

Everything random in fenchel is *drawn* first (`draw(key, ...)`) and consumed by deterministic functions
(`step`, `sample`). Drawing the noise of many episodes in one call is about three times faster than splitting
a key inside each step, and recorded noise can be replayed through a plain-NumPy twin.
"""

from math import prod

import jax
import jax.numpy as jnp
from jax.extend.random import threefry_2x32
from jaxtyping import Array, Float, Key, UInt32

_UNIT = 2.0**-24
"""Spacing of the uniforms: 24 bits, exact in single and in double precision."""


def uniforms(key: Key[Array, ""], shape: tuple[int, ...]) -> Float[Array, "..."]:
    """Uniform numbers on [0, 1), the same in single and double precision.

    One threefry block yields two numbers here, where `jax.random.uniform` spends a block on each.
    """
    return (_bits(key, shape) >> 8).astype(jnp.result_type(float)) * _UNIT


def normals(key: Key[Array, ""], shape: tuple[int, ...]) -> Float[Array, "..."]:
    """Standard normal numbers by inversion of uniforms that exclude 0 and 1."""
    centred = (_bits(key, shape) >> 9).astype(jnp.result_type(float)) * (2 * _UNIT) + _UNIT
    return jax.scipy.special.ndtri(centred)


def _bits(key: Key[Array, ""], shape: tuple[int, ...]) -> UInt32[Array, "..."]:
    if str(jax.random.key_impl(key)) != "threefry2x32":
        return jax.random.bits(key, shape, jnp.uint32)
    counts = jax.lax.iota(jnp.uint32, prod(shape))
    numbers: UInt32[Array, "..."] = threefry_2x32(jax.random.key_data(key), counts)
    return numbers.reshape(shape)
