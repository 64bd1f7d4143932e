"""The score-function (likelihood-ratio) estimator and its control variates."""

from typing import final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from fenchel.envs.base import AbstractEnvironment
from fenchel.errors import InputError, require_choice, require_count
from fenchel.estimators.base import AbstractEstimator
from fenchel.estimators.episodes import Episodes, RolloutNoise, draw_rollout, rollout
from fenchel.objectives.base import AbstractObjective
from fenchel.policies.base import AbstractPolicy

CONTROL_VARIATES = ("none", "batch", "step")


@final
class ScoreFunction(AbstractEstimator):
    """Mean over the batch of Σ_k (w − b_k) ∇ log π(a_k|s_k), with w the objective's weight of the episode.

    Arguments:
        env: the environment.
        batch_size: episodes per batch, m.
        control_variate: the baseline b_k. "none" is the paper's; "batch" is the mean weight of the other
            episodes; "step" the mean over the other episodes that were still going at step k. Leaving the
            episode itself out keeps the direction unbiased.
    """

    env: AbstractEnvironment
    batch_size: int = eqx.field(static=True, default=1)
    control_variate: str = eqx.field(static=True, default="none")

    def __check_init__(self) -> None:
        require_count("batch_size", self.batch_size)
        require_choice("control_variate", self.control_variate, CONTROL_VARIATES)
        if self.control_variate != "none" and self.batch_size < 2:
            raise InputError(
                "control_variate",
                self.control_variate,
                "leaves one episode out, so it needs a batch_size of at least 2; or use 'none'",
            )

    def draw(self, key: Key[Array, ""], policy: AbstractPolicy) -> RolloutNoise:
        """The noise of one batch."""
        return draw_rollout(key, self.env, policy, self.batch_size)

    def sample(self, noise: RolloutNoise, policy: AbstractPolicy) -> Episodes:
        """One batch of episodes."""
        return rollout(self.env, policy, noise)

    def direction(
        self,
        policy: AbstractPolicy,
        episodes: Episodes,
        objective: AbstractObjective,
        dual: Float[Array, ""],
    ) -> AbstractPolicy:
        """Ascent direction; for m = 1 and no control variate it is w ω_t of the paper."""
        advantage = self.advantage(objective.weights(episodes.returns, dual), episodes.alive)
        return weighted_score(policy, episodes, advantage)

    def advantage(self, weights: Float[Array, " m"], alive: Bool[Array, "T m"]) -> Float[Array, "T m"]:
        """Weight minus baseline, w − b_k; zero where an episode had no k-th step."""
        if self.control_variate == "none":
            baseline = jnp.zeros_like(weights)[None]
        elif self.control_variate == "batch":
            baseline = ((jnp.sum(weights) - weights) / (self.batch_size - 1))[None]
        else:
            going = jnp.where(alive, weights[None], 0)
            others = jnp.sum(going, axis=1, keepdims=True) - going
            count = jnp.sum(alive, axis=1, keepdims=True) - alive
            baseline = others / jnp.maximum(count, 1)
        return jnp.where(alive, weights[None] - baseline, 0)


def weighted_score(
    policy: AbstractPolicy, episodes: Episodes, advantage: Float[Array, "T m"]
) -> AbstractPolicy:
    """Gradient of the batch mean of Σ_k advantage_k log π(a_k|s_k)."""

    def total(policy: AbstractPolicy) -> Float[Array, ""]:
        log_prob = jax.vmap(jax.vmap(policy.log_prob))(episodes.observations, episodes.actions)
        return jnp.sum(advantage * log_prob) / advantage.shape[1]

    slope: AbstractPolicy = eqx.filter_grad(total)(policy)
    return slope
