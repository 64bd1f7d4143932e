"""An objective between the expected return and another one."""

from typing import final

from jaxtyping import Array, Float

from fenchel.objectives.base import AbstractObjective


@final
class Phased(AbstractObjective):
    """(1 − κ) E[R] + κ times another objective, with its dual: risk aversion that is being phased in.

    Arguments:
        objective: the other one, in the units of the return.
        share: κ, from 0 to 1.

    >>> import jax.numpy as jnp
    >>> from fenchel.objectives import MeanVariance
    >>> Phased(MeanVariance(2.0), jnp.asarray(0.5)).value(jnp.asarray([1.0, 3.0])).item()
    1.0
    """

    objective: AbstractObjective
    share: Float[Array, ""]

    @property
    def per_step(self) -> bool:
        """As the other objective does."""
        return self.objective.per_step

    def best_dual(self, outcomes: Float[Array, " m ..."]) -> Float[Array, ""]:
        """That of the other objective."""
        return self.objective.best_dual(outcomes)

    def value(self, outcomes: Float[Array, " m ..."]) -> Float[Array, ""]:
        """Of a batch."""
        mean = first(outcomes).mean()
        return (1 - self.share) * mean + self.share * self.objective.value(outcomes)

    def dual_slope(self, outcomes: Float[Array, " m ..."], dual: Float[Array, ""]) -> Float[Array, ""]:
        """κ times the other one's."""
        return self.share * self.objective.dual_slope(outcomes, dual)

    def weights(
        self,
        outcomes: Float[Array, " m ..."],
        dual: Float[Array, ""],
        sample: Float[Array, " n ..."] | None = None,
    ) -> Float[Array, " m"]:
        """(1 − κ) R + κ times the weight under the other objective."""
        risky = self.objective.weights(outcomes, dual, sample)
        return (1 - self.share) * first(outcomes) + self.share * risky


def first(outcomes: Float[Array, " m ..."]) -> Float[Array, " m"]:
    """The return, or the mean of the rewards."""
    return outcomes if outcomes.ndim == 1 else outcomes[:, 0]
