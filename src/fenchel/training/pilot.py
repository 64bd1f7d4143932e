"""A first policy step size that suits the problem's scale, for users who do not want to tune one."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from fenchel.estimators.score import ScoreFunction
from fenchel.objectives.base import AbstractObjective
from fenchel.policies.base import AbstractPolicy

EPISODES = 4096
"""Episodes of the pilot."""

STEP = 0.01
"""Root mean square length of a first step: small against a logit, so that no early luck saturates a softmax."""

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

    def square(one):  # type: ignore[no-untyped-def]
        direction = estimator.direction(policy, one, objective, dual)
        return sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(eqx.filter(direction, eqx.is_inexact_array)))

    return jnp.sqrt(jnp.mean(jax.vmap(square)(episodes)))


def pilot_step_size(
    key: Key[Array, ""], policy: AbstractPolicy, objective: AbstractObjective, estimator: ScoreFunction
) -> float:
    """The step size with which a typical first step changes the parameters by `STEP`, to two digits."""
    norm = float(typical_direction(key, policy, objective, estimator))
    return float(f"{STEP / norm:.1e}") if norm > 0 else STEP
