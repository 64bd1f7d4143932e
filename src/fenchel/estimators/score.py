"""The score-function (likelihood-ratio) estimator and its control variates."""

from typing import final

import equinox as eqx
import jax
import jax.numpy as jnp
from gymnasium.spaces import Discrete
from jaxtyping import Array, Float, Key, PyTree

from fenchel.envs.base import AbstractEnvironment
from fenchel.errors import InputError, require, require_choice, require_count
from fenchel.estimators.base import AbstractEstimator
from fenchel.estimators.baselines import learned_value, others_mean
from fenchel.estimators.critic import critic_for
from fenchel.estimators.episodes import Episodes, RolloutNoise, draw_rollout, rollout
from fenchel.objectives.base import AbstractObjective
from fenchel.policies.base import AbstractPolicy

TINY = 1e-30
"""Keeps a batch without any advantage from being divided by zero."""

CONTROL_VARIATES = ("none", "batch", "step", "value", "critic")


@final
class ScoreFunction(AbstractEstimator):
    """Mean over the batch of Σ_k (w − b_k) ∇ log π(a_k|s_k), with w the objective's weight of the episode.

    Arguments:
        env: the environment.
        batch_size: episodes per batch, m.
        control_variate: the baseline b_k. "none" is the paper's; "batch" is the mean weight of the other
            episodes; "step" the mean over the other episodes that were still going at step k. Leaving the
            episode itself out keeps the direction unbiased. "value" is learned from the batch: what an
            episode is worth from an observation, the reward so far and the step on (`baselines`). "critic"
            learns that from all batches, and lets it stand for a part of what follows a step (`critic`).
        led: how many episodes of a batch begin with an action drawn at random and repeated for a random time
            (`Lead`). The policy learns from what it does afterwards; the dual does not hear of them.
    """

    env: AbstractEnvironment
    batch_size: int = eqx.field(static=True, default=1)
    control_variate: str = eqx.field(static=True, default="none")
    led: int = eqx.field(static=True, default=0)

    def __check_init__(self) -> None:
        require_count("batch_size", self.batch_size)
        require_choice("control_variate", self.control_variate, CONTROL_VARIATES)
        if self.control_variate != "none" and self.batch_size < 2:
            raise InputError(
                "control_variate",
                self.control_variate,
                "leaves one episode out, so it needs a batch_size of at least 2; or use 'none'",
            )
        require_count("led", self.led, least=0)
        remedy = f"must leave episodes to the policy, out of {self.batch_size}"
        require(self.led < self.batch_size, "led", self.led, remedy)
        space = self.env.action_space
        finite = self.led == 0 or isinstance(space, Discrete)
        require(finite, "led", self.led, f"must be 0: an action of {space} cannot be drawn and repeated")

    def draw(self, key: Key[Array, ""], policy: AbstractPolicy) -> RolloutNoise:
        """The noise of one batch."""
        return draw_rollout(key, self.env, policy, self.batch_size, self.led)

    def sample(self, noise: RolloutNoise, policy: AbstractPolicy) -> Episodes:
        """One batch of episodes."""
        return rollout(self.env, policy, noise)

    def init(self, policy: AbstractPolicy) -> PyTree:
        """Of a critic, that it knows nothing."""
        return critic_for(self.env).init() if self.control_variate == "critic" else None

    def remember(
        self,
        memory: PyTree,
        policy: AbstractPolicy,
        episodes: Episodes,
        objective: AbstractObjective,
        dual: Float[Array, ""],
    ) -> PyTree:
        """Of a critic, what the batch tells."""
        if self.control_variate != "critic":
            return memory
        return critic_for(self.env).update(memory, self.weights(episodes, objective, dual), episodes)

    def direction(
        self,
        policy: AbstractPolicy,
        episodes: Episodes,
        objective: AbstractObjective,
        dual: Float[Array, ""],
        memory: PyTree = None,
        entropy: Float[Array, ""] | None = None,
    ) -> AbstractPolicy:
        """Ascent direction; for m = 1 and no control variate it is w ω_t of the paper."""
        advantage = self.advantage(self.weights(episodes, objective, dual), episodes, memory)
        if entropy is None:
            return weighted_score(policy, episodes, advantage)
        chosen = jnp.maximum(jnp.sum(episodes.own), 1)
        typical = jnp.sqrt(jnp.sum(advantage**2) / chosen) + TINY
        return weighted_score(policy, episodes, advantage / typical, entropy)

    def advantage(
        self, weights: Float[Array, " m"], episodes: Episodes, memory: PyTree = None
    ) -> Float[Array, "T m"]:
        """Weight minus baseline, w − b_k; zero where the policy chose no k-th action."""
        if self.control_variate == "critic" and memory is not None:
            return critic_for(self.env).advantage(memory, weights, episodes)
        return jnp.where(episodes.own, weights[None] - self._baseline(weights, episodes), 0)

    def _baseline(self, weights: Float[Array, " m"], episodes: Episodes) -> Float[Array, "..."]:
        """From the batch alone."""
        if self.control_variate == "none":
            return jnp.zeros_like(weights)[None]
        if self.control_variate == "batch":
            return ((jnp.sum(weights) - weights) / (self.batch_size - 1))[None]
        if self.control_variate == "step":
            return others_mean(weights, episodes.own)
        return learned_value(weights, episodes, self.env)

    def weights(
        self, episodes: Episodes, objective: AbstractObjective, dual: Float[Array, ""]
    ) -> Float[Array, " m"]:
        """What the objective makes of each episode."""
        return objective.weights(episodes.outcomes(objective), dual, episodes.own_outcomes(objective))


def weighted_score(
    policy: AbstractPolicy,
    episodes: Episodes,
    advantage: Float[Array, "T m"],
    entropy: Float[Array, ""] | None = None,
) -> AbstractPolicy:
    """Gradient of the batch mean of Σ_k (advantage_k log π(a_k|s_k) + entropy · H(π(·|s_k)))."""

    def total(policy: AbstractPolicy) -> Float[Array, ""]:
        seen, actions = episodes.observations, episodes.actions
        if entropy is None:
            gain = advantage * jax.vmap(jax.vmap(policy.log_prob))(seen, actions)
        else:
            log_prob, spread = jax.vmap(jax.vmap(policy.score_terms))(seen, actions)
            gain = advantage * log_prob + entropy * jnp.where(episodes.own, spread, 0)
        return jnp.sum(gain) / advantage.shape[1]

    slope: AbstractPolicy = eqx.filter_grad(total)(policy)
    return slope
