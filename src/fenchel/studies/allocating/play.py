"""Rules on given paths of returns."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from fenchel.envs import Allocation
from fenchel.envs.allocation import AllocationState

Paths = np.ndarray[Any, Any]

Rule = Callable[[AllocationState], Float[Array, " assets"]]
"""Amounts wanted in a state."""

MOST_WINDOWS = 20_000
"""Windows of a long table that are looked at, evenly spread."""


class Played(NamedTuple):
    """What a rule did on m paths."""

    amounts: Float[Paths, "T m assets"]
    """Held from each date on, limits kept."""
    wealth: Float[Paths, "T+1 m"]
    """Before each date, and in the end."""


def play(env: Allocation, rule: Rule, paths: Paths, start: AllocationState | None = None) -> Played:
    """Follow a rule along gross returns, from the first state or another one.

    Arguments:
        env: with its costs and limits; its own returns are not used.
        rule: amounts wanted in a state.
        paths: gross returns, paths × dates × assets.
        start: where every path starts.
    """
    first = start_state(env) if start is None else start
    count = paths.shape[0]
    states = jax.tree.map(lambda x: jnp.broadcast_to(x, (count, *jnp.shape(x))), first)

    def advance(states: Any, gross: Float[Array, "m assets"]) -> Any:
        held = jax.vmap(lambda state: env.allowed(rule(state), state.wealth))(states)
        return jax.vmap(env.earn)(states, held, gross), (held, states.wealth)

    moved = jnp.moveaxis(jnp.asarray(paths), 1, 0)
    last, (amounts, wealth) = jax.jit(lambda s: jax.lax.scan(advance, s, moved))(states)
    return Played(np.asarray(amounts), np.concatenate([np.asarray(wealth), np.asarray(last.wealth)[None]]))


def start_state(env: Allocation, step: int = 0, wealth: float | None = None) -> AllocationState:
    """A date, and wealth that is all cash then."""
    owned = env.start_wealth if wealth is None else wealth
    none = jnp.zeros(env.assets)
    return AllocationState(jnp.asarray(step, jnp.int32), jnp.asarray(owned, none.dtype), none, _nowhere())


def drawn(env: Allocation, count: int, key: Any) -> Paths:
    """Paths of gross returns as the environment draws them."""
    noise = env.draw(key, (env.horizon, count))
    market = env.market

    def advance(place: Int[Array, " m"], now: Any) -> Any:
        return jax.vmap(market.move)(now, place)

    places = jax.vmap(market.start)(env.draw(jax.random.fold_in(key, 1), (count,)))
    _, gross = jax.jit(lambda p: jax.lax.scan(advance, p, noise))(places)
    return np.moveaxis(np.asarray(gross), 0, 1)


def windows(gross: Paths, horizon: int) -> Paths:
    """All stretches of consecutive rows of an episode's length, or some of them that are evenly spread."""
    count = len(gross) - horizon + 1
    starts = np.unique(np.linspace(0, count - 1, min(count, MOST_WINDOWS)).astype(int))
    return gross[starts[:, None] + np.arange(horizon)]


def _nowhere() -> Int[Array, ""]:
    return jnp.zeros((), jnp.int32)
