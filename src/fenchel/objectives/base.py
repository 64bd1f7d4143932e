"""The contract of an objective: what it asks of the returns, and nothing else."""

from abc import abstractmethod
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


class AbstractObjective(eqx.Module):
    """What is asked of the returns, and what the blocks of an ascent need to know of it.

    The dual block needs a slope and, where it is exact, the best dual; the policy block one number per
    episode. Risk aversions are fields and become array leaves in training, so that one compiled program
    serves many of them.

    An outcome is the return of an episode, or, where `per_step` says so, the mean of its rewards and the
    mean of their squares.
    """

    has_dual: ClassVar[bool] = True
    has_multiplier: ClassVar[bool] = False
    """Whether a constraint comes with a multiplier, which is a block of its own."""

    @property
    def per_step(self) -> bool:
        """Whether it goes by the rewards of steps instead of returns."""
        return False

    @abstractmethod
    def best_dual(self, outcomes: Float[Array, " m ..."]) -> Float[Array, ""]:
        """The dual that is best for the batch."""

    @abstractmethod
    def value(self, outcomes: Float[Array, " m ..."]) -> Float[Array, ""]:
        """The objective of an empirical distribution."""

    @abstractmethod
    def dual_slope(self, outcomes: Float[Array, " m ..."], dual: Float[Array, ""]) -> Float[Array, ""]:
        """Ascent direction of the dual."""

    @abstractmethod
    def weights(
        self,
        outcomes: Float[Array, " m ..."],
        dual: Float[Array, ""],
        sample: Float[Array, " n ..."] | None = None,
    ) -> Float[Array, " m"]:
        """What each episode contributes to the policy's score-function direction, up to a constant.

        Arguments:
            outcomes: of the episodes to be weighed.
            dual: y.
            sample: outcomes that stand for the policy's law; by default those to be weighed.
        """

    def natural(self) -> "AbstractObjective":
        """The same objective in the units of the return: what reports call the value."""
        return self

    def phased(self, share: Float[Array, ""]) -> "AbstractObjective":
        """A share κ of the way from the expected return to this objective."""
        from fenchel.objectives.phased import Phased

        return Phased(self, share)

    def lagrangian(
        self, multiplier: Float[Array, ""], outcomes: Float[Array, " m ..."], dual: Float[Array, ""]
    ) -> "AbstractObjective":
        """What the policy ascends at a multiplier; the objective itself where it has no constraint."""
        return self

    def excess(self, outcomes: Float[Array, " m ..."], dual: Float[Array, ""]) -> Float[Array, ""]:
        """By how much a batch exceeds the constraint; ascent direction of the multiplier."""
        return jnp.zeros(())


class AbstractSurrogate(AbstractObjective):
    """A concave surrogate ψ(R, y) of one return R with a scalar dual y; its value is max_y E[ψ(R, y)].

    The policy problem is to maximise E[ψ(R, y)] over policy and dual together.
    """

    @abstractmethod
    def surrogate(self, ret: Float[Array, "..."], dual: Float[Array, ""]) -> Float[Array, ""]:
        """ψ(R, y) of one episode, to be maximised."""

    def value(self, outcomes: Float[Array, " m ..."]) -> Float[Array, ""]:
        """The mean of ψ at the best dual."""
        return self._mean(outcomes, self.best_dual(outcomes))

    def dual_slope(self, outcomes: Float[Array, " m ..."], dual: Float[Array, ""]) -> Float[Array, ""]:
        """The derivative of the mean of ψ in y."""
        slope: Float[Array, ""] = jax.grad(self._mean, argnums=1)(outcomes, dual)
        return slope

    def weights(
        self,
        outcomes: Float[Array, " m ..."],
        dual: Float[Array, ""],
        sample: Float[Array, " n ..."] | None = None,
    ) -> Float[Array, " m"]:
        """ψ(R, y) − ψ(0, y).

        A part of ψ that does not depend on R has no expected effect on the policy, so it is left out, as in
        the paper (`def:tildeg_theta`).
        """
        psi = jax.vmap(self.surrogate, (0, None))
        return psi(outcomes, dual) - self.surrogate(jnp.zeros(outcomes.shape[1:], outcomes.dtype), dual)

    def _mean(self, outcomes: Float[Array, " m ..."], dual: Float[Array, ""]) -> Float[Array, ""]:
        return jnp.mean(jax.vmap(self.surrogate, (0, None))(outcomes, dual))
