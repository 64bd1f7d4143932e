"""An objective between the expected return and another one."""

from typing import final

from jaxtyping import Array, Float

from fenchel.objectives.base import AbstractObjective


@final
class Phased(AbstractObjective):
    """(1 − κ) R + κ ψ(R, y), with the dual of ψ: risk aversion that is being phased in.

    Arguments:
        objective: ψ, in the units of the return.
        share: κ, from 0 to 1.

    >>> import jax.numpy as jnp
    >>> from fenchel.objectives import MeanVariance
    >>> Phased(MeanVariance(2.0), jnp.asarray(0.5)).surrogate(jnp.asarray(3.0), jnp.asarray(1.0)).item()
    -1.0
    """

    objective: AbstractObjective
    share: Float[Array, ""]

    def surrogate(self, ret: Float[Array, ""], dual: Float[Array, ""]) -> Float[Array, ""]:
        """(1 − κ) R + κ ψ(R, y)."""
        return (1 - self.share) * ret + self.share * self.objective.surrogate(ret, dual)

    def best_dual(self, returns: Float[Array, " m"]) -> Float[Array, ""]:
        """That of ψ."""
        return self.objective.best_dual(returns)

    def weights(
        self,
        returns: Float[Array, " m"],
        dual: Float[Array, ""],
        sample: Float[Array, " n"] | None = None,
    ) -> Float[Array, " m"]:
        """(1 − κ) R + κ times the weight under ψ."""
        return (1 - self.share) * returns + self.share * self.objective.weights(returns, dual, sample)
