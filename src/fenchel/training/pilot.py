"""A first policy step size that suits the problem's scale, for users who do not want to tune one."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Key

from fenchel.estimators import Episodes, Pathwise, ScoreFunction, Storm
from fenchel.objectives.base import AbstractObjective
from fenchel.policies.base import AbstractPolicy

Estimator = ScoreFunction | Pathwise | Storm

EPISODES = 4096
"""Episodes of the pilot."""

STEP = 0.01
"""Length of a typical first step: so short that no early luck saturates a softmax."""

AT_ONCE = 64
"""Batches whose directions are computed side by side."""


@eqx.filter_jit
def lengths(
    key: Key[Array, ""], policy: AbstractPolicy, objective: AbstractObjective, estimator: Estimator
) -> Float[Array, " n"]:
    """Norms of the estimator's direction at the first policy and its best dual, of independent batches."""
    count = max(2, EPISODES // estimator.batch_size)
    noise = jax.vmap(lambda k: estimator.draw(k, policy))(jax.random.split(key, count))
    episodes = jax.vmap(lambda n: estimator.sample(n, policy))(noise)
    outcomes = jax.vmap(lambda batch: batch.outcomes(objective))(episodes)
    dual = objective.best_dual(outcomes.reshape(-1, *outcomes.shape[2:]))

    def length(batch: Episodes) -> Float[Array, ""]:
        direction = estimator.direction(policy, batch, objective, dual)
        norm: Float[Array, ""] = optax.tree.norm(eqx.filter(direction, eqx.is_inexact_array))
        return norm

    norms: Float[Array, " n"] = jax.lax.map(length, episodes, batch_size=min(AT_ONCE, count))
    return norms


def typical(norms: np.ndarray[Any, Any]) -> float:
    """The median of the lengths of steps that move anything, and 0 where there is none.

    A mean would be that of the largest few: optimal stopping has steps thousands of times the median. And
    idle steps say nothing of scale: seven in eight first episodes of the option execute at once, for nothing.
    They need not be 0, as what cancels leaves its rounding, so a step counts from a thousandth of the 99 %
    quantile on, and from a millionth of the longest where all but one in a hundred are idle.

    >>> typical(np.array([0.0, 1e-17, 1e-17, 1.0, 2.0, 900.0]))
    2.0
    """
    finite = norms[np.isfinite(norms)]
    if not np.any(finite > 0):
        return 0.0
    floor = max(1e-3 * np.quantile(finite, 0.99), 1e-6 * np.max(finite))
    return float(np.median(finite[finite >= floor]))


def pilot_step_size(
    key: Key[Array, ""], policy: AbstractPolicy, objective: AbstractObjective, estimator: Estimator
) -> float:
    """The step size with which a typical first step changes the parameters by `STEP`, to two digits."""
    numbers = jax.tree.map(_as_array, objective)  # or every risk aversion would compile a program of its own
    norm = typical(np.asarray(lengths(key, policy, numbers, estimator)))
    return float(f"{STEP / norm:.1e}") if norm > 0 else STEP


def _as_array(leaf: Any) -> Any:
    return jnp.asarray(leaf, float) if isinstance(leaf, float | int) and not isinstance(leaf, bool) else leaf


class PilotSteps:
    """Step sizes by what they depend on, each measured once; a resumed run takes the ones it began with.

    Arguments:
        known: what the run to be resumed had measured; None for a fresh run.
    """

    def __init__(self, known: dict[str, float] | None = None):
        self.resumed = known is not None
        self.known = dict(known or {})

    def get(self, name: str, measure: Callable[[], float]) -> float:
        """The step size for `name`. Resuming never measures: a run with a new name is about to be refused."""
        if self.resumed:
            return self.known.get(name, next(iter(self.known.values()), STEP))
        if name not in self.known:
            self.known[name] = measure()
        return self.known[name]
