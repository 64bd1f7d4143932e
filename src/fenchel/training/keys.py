"""The random streams of a run: every one of them follows from the seed."""

from typing import NamedTuple

import jax
from jaxtyping import Array, Key

from fenchel.errors import require


class Streams(NamedTuple):
    """Independent keys for independent purposes."""

    training: Key[Array, ""]
    selection: Key[Array, ""]
    evaluation: Key[Array, ""]
    policy: Key[Array, ""]


def streams(seed: int) -> Streams:
    """The streams of a seed."""
    whole = isinstance(seed, int) and not isinstance(seed, bool)
    require(whole and 0 <= seed < 2**32, "seed", seed, "must be a whole number from 0 to 4294967295")
    return Streams(*jax.random.split(jax.random.key(seed), 4))
