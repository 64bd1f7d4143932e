"""The contract of an estimator: how episodes are sampled and a policy direction is obtained from them."""

from abc import abstractmethod

import equinox as eqx
from jaxtyping import Array, Float, Key, PyTree

from fenchel.estimators.episodes import Episodes
from fenchel.objectives.base import AbstractObjective
from fenchel.policies.base import AbstractPolicy


class AbstractEstimator(eqx.Module):
    """Samples batches of episodes, and turns them into an ascent direction for the policy."""

    @abstractmethod
    def draw(self, key: Key[Array, ""], policy: AbstractPolicy) -> PyTree:
        """The noise of one batch; it may depend on the kind of policy, not on its parameters."""

    @abstractmethod
    def sample(self, noise: PyTree, policy: AbstractPolicy) -> Episodes:
        """One batch of episodes under `policy`."""

    @abstractmethod
    def direction(
        self,
        policy: AbstractPolicy,
        episodes: Episodes,
        objective: AbstractObjective,
        dual: Float[Array, ""],
        memory: PyTree = None,
        entropy: Float[Array, ""] | None = None,
    ) -> AbstractPolicy:
        """An estimate of the gradient of E[ψ(R, y)] in the policy's parameters, shaped like the policy.

        Arguments:
            policy: that played the episodes.
            episodes: a batch.
            objective: ψ.
            dual: y.
            memory: what is remembered of earlier batches and this one; None where nothing is.
            entropy: weight of the policy's entropy, in units of the typical advantage; None for none.
        """

    def init(self, policy: AbstractPolicy) -> PyTree:
        """What is remembered before the first batch; nothing unless overridden."""
        return None

    def remember(
        self,
        memory: PyTree,
        policy: AbstractPolicy,
        episodes: Episodes,
        objective: AbstractObjective,
        dual: Float[Array, ""],
    ) -> PyTree:
        """What is remembered after a batch."""
        return memory
