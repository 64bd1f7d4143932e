"""What an episode is worth from an observation on, learned over many batches."""

import math
from abc import abstractmethod
from typing import ClassVar, final

import equinox as eqx
import jax
import jax.numpy as jnp
from gymnasium.spaces import Discrete
from jaxtyping import Array, Float, PyTree

from fenchel.envs.base import AbstractEnvironment
from fenchel.estimators.baselines import TINY, Moments, quadratic, ridge, seen_so_far, unit_scale
from fenchel.estimators.episodes import Episodes

KEPT = 0.8
"""Weight of what is known when a batch comes in: old returns were those of another policy and dual."""


class AbstractCritic(eqx.Module):
    """Discounted statistics of batches, and the value that follows from them."""

    trust: eqx.AbstractClassVar[float]
    """How much of an advantage rests on the value of the next observation instead of the return."""

    @abstractmethod
    def init(self) -> PyTree:
        """Nothing is known yet."""

    @abstractmethod
    def update(self, memory: PyTree, weights: Float[Array, " m"], episodes: Episodes) -> PyTree:
        """With a batch more."""

    @abstractmethod
    def values(self, memory: PyTree, episodes: Episodes) -> Float[Array, "T m"]:
        """What an episode is worth from each step on."""

    def advantage(
        self, memory: PyTree, weights: Float[Array, " m"], episodes: Episodes
    ) -> Float[Array, "T m"]:
        """What follows an action, partly as it came and partly as it is known, minus what was expected."""
        values, own = self.values(memory, episodes), episodes.own
        following = jnp.concatenate([values[1:], values[:1]])
        goes_on = jnp.concatenate([own[1:], jnp.zeros_like(own[:1])])
        came = jnp.broadcast_to(weights[None], own.shape)
        after = jnp.where(goes_on, self.trust * following + (1 - self.trust) * came, came)
        return jnp.where(own, after - values, 0)


@final
class TableCritic(AbstractCritic):
    """Mean weight of the visits to an index."""

    states: int = eqx.field(static=True)
    trust: ClassVar[float] = 0.7

    def init(self) -> PyTree:
        """No visits."""
        return jnp.zeros(self.states), jnp.zeros(self.states)

    def update(self, memory: PyTree, weights: Float[Array, " m"], episodes: Episodes) -> PyTree:
        """Means and counts of visits."""
        mean, count = memory
        index, own = episodes.observations.ravel(), episodes.own.astype(weights.dtype)
        sums = jax.ops.segment_sum((own * weights[None]).ravel(), index, self.states)
        total = KEPT * count + jax.ops.segment_sum(own.ravel(), index, self.states)
        return (KEPT * mean * count + sums) / jnp.maximum(total, TINY), total

    def values(self, memory: PyTree, episodes: Episodes) -> Float[Array, "T m"]:
        """The means."""
        return jnp.asarray(memory[0])[episodes.observations]


@final
class LinearCritic(AbstractCritic):
    """A ridge regression on the observation, the reward so far and the step, and their squares.

    It is a baseline and nothing else (`trust` is 0): what it does not fit must not bias the direction.
    """

    size: int = eqx.field(static=True)
    trust: ClassVar[float] = 0.0

    def init(self) -> PyTree:
        """No batch seen: how many there were, the scale of the numbers, and the normal equations."""
        width, none = 2 * self.size + 1, jnp.zeros(self.size)
        return jnp.zeros((), int), Moments(none, none), jnp.zeros((width, width)), jnp.zeros(width)

    def update(self, memory: PyTree, weights: Float[Array, " m"], episodes: Episodes) -> PyTree:
        """The first batch sets the scale, and all of them the equations."""
        count, moments, gram, cross = memory
        raw = seen_so_far(episodes)
        first = unit_scale(raw, episodes.own)
        moments = jax.tree.map(lambda new, old: jnp.where(count == 0, new, old), first, moments)
        kept = jnp.where(episodes.own[..., None], quadratic(raw, moments), 0)
        gram = KEPT * gram + jnp.einsum("tmd,tme->de", kept, kept)
        return count + 1, moments, gram, KEPT * cross + jnp.einsum("tmd,m->d", kept, weights)

    def values(self, memory: PyTree, episodes: Episodes) -> Float[Array, "T m"]:
        """The fit."""
        _, moments, gram, cross = memory
        return quadratic(seen_so_far(episodes), moments) @ ridge(gram, cross)


def critic_for(env: AbstractEnvironment) -> AbstractCritic:
    """A table where observations are indices, else a regression."""
    space = env.observation_space
    if isinstance(space, Discrete):
        return TableCritic(int(space.n))
    return LinearCritic(math.prod(space.shape or ()) + 2)
