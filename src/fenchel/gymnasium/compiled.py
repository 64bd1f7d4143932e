"""Functions of an environment, compiled once for all environments that are alike."""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import equinox as eqx
import jax

from fenchel.envs import AbstractEnvironment

KEPT = 64
"""Programs that are kept."""


def compiled(function: Callable[..., Any], env: AbstractEnvironment) -> Callable[..., Any]:
    """`function(env, ...)` as a function of the rest; called at every step, where 0.1 ms of dispatch tells.

    >>> from fenchel.envs import AmericanOption
    >>> compiled(lambda env, price: env.executed(price), AmericanOption())(0.75).item()
    0.25
    """
    arrays, others = eqx.partition(env, eqx.is_array)
    return partial(_program(function, others), arrays)


@lru_cache(KEPT)
def _program(function: Callable[..., Any], others: AbstractEnvironment) -> Callable[..., Any]:
    def call(arrays: AbstractEnvironment, *arguments: Any) -> Any:
        return function(eqx.combine(arrays, others), *arguments)

    return jax.jit(call)
