"""Stochastic recursive momentum: a direction that remembers the ones before it, with what changed since."""

from typing import final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, PyTree

from fenchel.envs.base import AbstractEnvironment
from fenchel.errors import require, require_number
from fenchel.estimators.base import AbstractEstimator
from fenchel.estimators.episodes import Episodes, RolloutNoise
from fenchel.estimators.score import ScoreFunction, weighted_score
from fenchel.objectives.base import AbstractObjective
from fenchel.policies.base import AbstractPolicy

MOST = 4.0
"""Greatest importance weight: no episode must outweigh a batch, however likely the last policy found it."""


@final
class Storm(AbstractEstimator):
    """d_t = g_t + (1 − a) (d_{t−1} − g′_t): variance-reduced policy gradients (Cutkosky and Orabona 2019).

    g_t is the score-function direction of the batch at the policy that played it, and g′_t that of the same
    batch at the policy before, its episodes weighed by how much likelier they were then. What both share
    cancels, so that the scatter of d_t is that of many batches, without their age. One policy per step, no
    batch is kept. Both are taken at the present dual: what the dual has moved since d_{t−1} is forgotten
    with the rest of it, at the rate a.

    Arguments:
        inner: gives g_t.
        momentum: a, from 0 to 1; 1 is the inner estimator.
    """

    inner: ScoreFunction
    momentum: float = 0.1

    def __check_init__(self) -> None:
        fits = 0 < require_number("momentum", self.momentum) <= 1
        require(fits, "momentum", self.momentum, "must be above 0 and at most 1")

    @property
    def env(self) -> AbstractEnvironment:
        """That of the inner estimator."""
        return self.inner.env

    @property
    def batch_size(self) -> int:
        """That of the inner estimator."""
        return self.inner.batch_size

    def draw(self, key: Key[Array, ""], policy: AbstractPolicy) -> RolloutNoise:
        """The noise of one batch."""
        return self.inner.draw(key, policy)

    def sample(self, noise: RolloutNoise, policy: AbstractPolicy) -> Episodes:
        """One batch of episodes."""
        return self.inner.sample(noise, policy)

    def init(self, policy: AbstractPolicy) -> PyTree:
        """No direction yet: how many there were, the policy of the last one, it, and the inner memory."""
        params = eqx.filter(policy, eqx.is_inexact_array)
        nothing = jax.tree.map(jnp.zeros_like, params)
        return jnp.zeros((), jnp.int32), params, nothing, self.inner.init(policy)

    def remember(
        self,
        memory: PyTree,
        policy: AbstractPolicy,
        episodes: Episodes,
        objective: AbstractObjective,
        dual: Float[Array, ""],
    ) -> PyTree:
        """The direction at this batch, and the policy it is of."""
        count, before, direction, inner = memory
        about = episodes, objective, dual
        inner = self.inner.remember(inner, policy, *about)
        now = self.inner.direction(policy, *about, inner)
        then = self._then(eqx.combine(before, policy), policy, *about, inner)

        def recur(new: Array, old: Array, last: Array) -> Array:
            return jnp.where(count == 0, new, new + (1 - self.momentum) * (last - old))

        params = eqx.filter(policy, eqx.is_inexact_array)
        return count + 1, params, jax.tree.map(recur, now, then, direction), inner

    def direction(
        self,
        policy: AbstractPolicy,
        episodes: Episodes,
        objective: AbstractObjective,
        dual: Float[Array, ""],
        memory: PyTree = None,
        entropy: Float[Array, ""] | None = None,
    ) -> AbstractPolicy:
        """What was remembered; that of the inner estimator where nothing was."""
        if memory is None:
            return self.inner.direction(policy, episodes, objective, dual, None, entropy)
        found: AbstractPolicy = memory[2]
        return found

    def _then(
        self,
        before: AbstractPolicy,
        policy: AbstractPolicy,
        episodes: Episodes,
        objective: AbstractObjective,
        dual: Float[Array, ""],
        inner: PyTree,
    ) -> AbstractPolicy:
        """The direction of the batch at the policy before."""
        weights = self.inner.weights(episodes, objective, dual)
        ratio = jnp.minimum(jnp.exp(_likelihood(before, episodes) - _likelihood(policy, episodes)), MOST)
        advantage = ratio[None] * self.inner.advantage(weights, episodes, inner)
        return weighted_score(before, episodes, advantage)


def _likelihood(policy: AbstractPolicy, episodes: Episodes) -> Float[Array, " m"]:
    """Log of the probability of the actions that the policy chose."""
    chances = jax.vmap(jax.vmap(policy.log_prob))(episodes.observations, episodes.actions)
    return jnp.sum(jnp.where(episodes.own, chances, 0), axis=0)
