"""ψ(R, y) and its derivative over whole tables of returns and duals, in double precision."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from fenchel.errors import require
from fenchel.exact.problem import Array
from fenchel.objectives.base import AbstractObjective, AbstractSurrogate
from fenchel.objectives.statistic import AbstractStatistic

HALVINGS = 100
"""Bisection steps: enough to shrink any bracket of doubles to two neighbours."""


def surrogates(
    objective: AbstractObjective, returns: Float[Array, " E"], duals: Float[Array, " m"]
) -> Float[Array, "E m"]:
    """ψ(R, y) of every return (first axis) at every dual (second)."""
    with jax.enable_x64(True):
        return np.asarray(_surrogates(in_double(objective), jnp.asarray(returns), jnp.asarray(duals)))


def surrogates_at(
    objective: AbstractObjective, returns: Float[Array, " E"], duals: Float[Array, "E m"]
) -> Float[Array, "E m"]:
    """ψ(R, y) of every return at the duals in its row."""
    with jax.enable_x64(True):
        return np.asarray(_surrogates_at(in_double(objective), jnp.asarray(returns), jnp.asarray(duals)))


def slopes(
    objective: AbstractObjective, returns: Float[Array, " E"], duals: Float[Array, " m"]
) -> Float[Array, "E m"]:
    """∂ψ/∂y of every return at every dual."""
    with jax.enable_x64(True):
        return np.asarray(_slopes(in_double(objective), jnp.asarray(returns), jnp.asarray(duals)))


def bracket(objective: AbstractObjective, returns: Float[Array, " E"]) -> tuple[float, float]:
    """An interval that holds argmax_y E[ψ(R, y)] for every law on these returns.

    Each ψ(R, ·) is concave: it rises up to its own maximiser y*(R) and falls beyond. So below the least of
    the y*(R) every mean of them rises, and above the greatest every mean falls.
    """
    own = own_duals(objective, returns)
    remedy = f"{type(objective).__name__}.best_dual gives no finite dual for a sure return; mend it"
    require(bool(np.all(np.isfinite(own))), "objective", type(objective).__name__, remedy)
    return float(np.min(own)), float(np.max(own))


def statistic(
    objective: AbstractStatistic, returns: Float[Array, " E"], probabilities: Float[Array, " E"]
) -> float:
    """The value of a law under an objective that is no expectation of a ψ."""
    with jax.enable_x64(True):
        return float(_statistic(in_double(objective), jnp.asarray(returns), jnp.asarray(probabilities)))


def require_surrogate(objective: AbstractObjective) -> AbstractSurrogate:
    """The objective, if it is an expectation of a ψ of the return."""
    name = type(objective).__name__
    fits = isinstance(objective, AbstractSurrogate) and not objective.per_step
    require(fits, "objective", name, "is no max over y of E[ψ(R, y)], which is what is asked for here")
    assert isinstance(objective, AbstractSurrogate)
    return objective


def own_duals(objective: AbstractObjective, returns: Float[Array, " E"]) -> Float[Array, " E"]:
    """The dual that is best for each return, were it sure."""
    with jax.enable_x64(True):
        return np.asarray(_own_duals(in_double(objective), jnp.asarray(returns)))


def best_dual(
    objective: AbstractObjective, returns: Float[Array, " E"], probabilities: Float[Array, " E"]
) -> float:
    """argmax_y Σ p ψ(R, y), by bisection on the derivative, which falls in y."""
    if not objective.has_dual:
        return 0.0
    possible = probabilities > 0
    low, high = bracket(objective, returns[possible])
    with jax.enable_x64(True):
        numbers = jnp.asarray(returns[possible]), jnp.asarray(probabilities[possible])
        return float(bisect(in_double(objective), *numbers, jnp.asarray(low), jnp.asarray(high)))


def in_double(tree: Any) -> Any:
    """A module with its numbers as arrays of double precision, so that one program serves all of them."""

    def convert(leaf: Any) -> Any:
        number = isinstance(leaf, float | int) and not isinstance(leaf, bool)
        return jnp.asarray(leaf, jnp.float64) if number or eqx.is_inexact_array(leaf) else leaf

    return jax.tree.map(convert, tree)


@eqx.filter_jit
def _surrogates(objective: Any, returns: Any, duals: Any) -> Any:
    return jax.vmap(jax.vmap(objective.surrogate, (None, 0)), (0, None))(returns, duals)


@eqx.filter_jit
def _surrogates_at(objective: Any, returns: Any, duals: Any) -> Any:
    return jax.vmap(jax.vmap(objective.surrogate, (None, 0)))(returns, duals)


@eqx.filter_jit
def _slopes(objective: Any, returns: Any, duals: Any) -> Any:
    slope = jax.grad(objective.surrogate, argnums=1)
    return jax.vmap(jax.vmap(slope, (None, 0)), (0, None))(returns, duals)


@eqx.filter_jit
def _statistic(objective: Any, returns: Any, probabilities: Any) -> Any:
    return objective.of_law(returns, probabilities)


@eqx.filter_jit
def _own_duals(objective: Any, returns: Any) -> Any:
    return jax.vmap(lambda ret: objective.best_dual(ret[None]))(returns)


@eqx.filter_jit
def bisect(objective: Any, returns: Any, probabilities: Any, low: Any, high: Any) -> Any:
    """The y between two at which the derivative of Σ p ψ(R, y) changes its sign."""
    slope = jax.vmap(jax.grad(objective.surrogate, argnums=1), (0, None))

    def halve(_: Any, ends: Any) -> Any:
        low, high = ends
        middle = (low + high) / 2
        rises = probabilities @ slope(returns, middle) > 0
        return jnp.where(rises, middle, low), jnp.where(rises, high, middle)

    low, high = jax.lax.fori_loop(0, HALVINGS, halve, (low, high))
    return (low + high) / 2
