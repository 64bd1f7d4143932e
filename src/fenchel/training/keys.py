"""The random streams of a run: every one of them follows from the seed."""

from typing import NamedTuple

import jax
from jaxtyping import Array, Key

from fenchel.errors import is_whole, require

PILOT = 0x70696C6F
"""Tag of the pilot's key: far from the small numbers that `jax.random.split` counts."""


class Streams(NamedTuple):
    """Independent keys for independent purposes."""

    training: Key[Array, ""]
    selection: Key[Array, ""]
    evaluation: Key[Array, ""]
    policy: Key[Array, ""]


def streams(seed: int) -> Streams:
    """The streams of a seed."""
    fits = is_whole(seed) and 0 <= seed < 2**32
    require(fits, "seed", seed, "must be a whole number from 0 to 4294967295")
    return Streams(*jax.random.split(jax.random.key(int(seed)), 4))


def pilot_key() -> Key[Array, ""]:
    """The key of the pilot batch: the same for every seed, and part of no stream of any of them."""
    return jax.random.fold_in(jax.random.key(0), PILOT)
