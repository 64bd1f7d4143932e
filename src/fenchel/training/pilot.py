"""A first policy step size that suits the problem's scale, for users who do not want to tune one."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Key

from fenchel.estimators.episodes import Episodes
from fenchel.estimators.score import ScoreFunction
from fenchel.objectives.base import AbstractObjective
from fenchel.policies.base import AbstractPolicy

EPISODES = 4096
"""Episodes of the pilot."""

STEP = 0.01
"""Root mean square length of a first step: so short that no early luck saturates a softmax."""

BATCHES = 64
"""Most batches among which the norm of a direction is averaged."""


@eqx.filter_jit
def typical_direction(
    key: Key[Array, ""], policy: AbstractPolicy, objective: AbstractObjective, estimator: ScoreFunction
) -> Float[Array, ""]:
    """Root mean square norm of the estimator's direction at the first policy and its best dual."""
    count = max(2, min(BATCHES, EPISODES // estimator.batch_size))
    noise = jax.vmap(lambda k: estimator.draw(k, policy))(jax.random.split(key, count))
    episodes = jax.vmap(lambda n: estimator.sample(n, policy))(noise)
    dual = objective.best_dual(episodes.returns.ravel())

    def square(batch: Episodes) -> Float[Array, ""]:
        direction = estimator.direction(policy, batch, objective, dual)
        return jnp.square(optax.tree.norm(eqx.filter(direction, eqx.is_inexact_array)))

    return jnp.sqrt(jnp.mean(jax.vmap(square)(episodes)))


def pilot_step_size(
    key: Key[Array, ""], policy: AbstractPolicy, objective: AbstractObjective, estimator: ScoreFunction
) -> float:
    """The step size with which a typical first step changes the parameters by `STEP`, to two digits."""
    norm = float(typical_direction(key, policy, objective, estimator))
    return float(f"{STEP / norm:.1e}") if norm > 0 else STEP


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
