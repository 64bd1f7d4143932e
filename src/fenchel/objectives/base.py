"""The contract of an objective: what it asks of the returns, and nothing else."""

from abc import abstractmethod
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


class AbstractObjective(eqx.Module):
    """A concave surrogate ψ(R, y) of one return R with a scalar dual y; its value is max_y E[ψ(R, y)].

    The policy problem is to maximise E[ψ(R, y)] over policy and dual together. Risk aversions are fields and
    become array leaves in training, so that one compiled program serves many of them.
    """

    has_dual: ClassVar[bool] = True

    @abstractmethod
    def surrogate(self, ret: Float[Array, ""], dual: Float[Array, ""]) -> Float[Array, ""]:
        """ψ(R, y) of one episode, to be maximised."""

    @abstractmethod
    def best_dual(self, returns: Float[Array, " m"]) -> Float[Array, ""]:
        """The dual that maximises the batch mean of ψ."""

    def value(self, returns: Float[Array, " m"]) -> Float[Array, ""]:
        """The objective of an empirical distribution: the mean of ψ at the best dual."""
        dual = self.best_dual(returns)
        return jnp.mean(jax.vmap(self.surrogate, (0, None))(returns, dual))

    def natural(self) -> "AbstractObjective":
        """The same objective in the units of the return: what reports call the value."""
        return self

    def weights(
        self,
        returns: Float[Array, " m"],
        dual: Float[Array, ""],
        sample: Float[Array, " n"] | None = None,
    ) -> Float[Array, " m"]:
        """What each episode contributes to the policy's score-function direction: ψ(R, y) − ψ(0, y).

        A part of ψ that does not depend on R has no expected effect on the policy, so it is left out, as in
        the paper (`def:tildeg_theta`). Objectives that are no expectation of a ψ override this with the
        influence of each return on the value of the batch.

        Arguments:
            returns: of the episodes to be weighed.
            dual: y.
            sample: returns that stand for the policy's law; by default those to be weighed.
        """
        psi = jax.vmap(self.surrogate, (0, None))
        return psi(returns, dual) - self.surrogate(jnp.zeros((), returns.dtype), dual)
