"""The greatest mean under a bound on the variance."""

from typing import ClassVar, final

import jax.numpy as jnp
from jaxtyping import Array, Float

from fenchel.errors import require, require_positive
from fenchel.objectives.mean_variance import MeanVariance
from fenchel.objectives.statistic import AbstractStatistic

STIFFNESS = 2.0
"""How strongly the policy feels that a batch exceeds the bound, over and above the multiplier. Without it
policy and multiplier circle around a bound that lies between two corners of the frontier."""

KEPT = 0.02
"""Share of the bound by which a variance may exceed it and still counts as within."""


@final
class VarianceBound(AbstractStatistic):
    """max J subject to Var(R) ≤ ζ, by its Lagrangian J − λ (Var(R) − ζ), with λ = μ/√ζ a third block.

    The multiplier μ ≥ 0 is a pure number. It follows the relative excess of the variance; the policy ascends
    mean-variance at λ, made stiffer by the excess of its batch (an augmented Lagrangian). As a number to
    compare policies by, the value is J within the bound, of which two per cent are let pass, and −∞ beyond.

    Arguments:
        variance_bound: ζ, above 0.

    >>> import jax.numpy as jnp
    >>> VarianceBound(variance_bound=1.0).value(jnp.array([1.0, 3.0])).item()
    2.0
    """

    has_dual: ClassVar[bool] = True
    has_multiplier: ClassVar[bool] = True
    variance_bound: float | Float[Array, ""] | None = None

    def __check_init__(self) -> None:
        remedy = "must be given: the greatest variance allowed"
        require(self.variance_bound is not None, "variance_bound", None, remedy)
        if isinstance(self.variance_bound, int | float):
            require_positive("variance_bound", self.variance_bound)

    @property
    def bound(self) -> float | Float[Array, ""]:
        """ζ, which is there."""
        assert self.variance_bound is not None
        return self.variance_bound

    def of_law(self, values: Float[Array, " n"], chances: Float[Array, " n"]) -> Float[Array, ""]:
        """J where Var ≤ 1.02 ζ, else −∞."""
        mean = chances @ values
        within = chances @ (values - mean) ** 2 <= (1 + KEPT) * self.bound
        return jnp.where(within, mean, -jnp.inf)

    def best_dual(self, outcomes: Float[Array, " m ..."]) -> Float[Array, ""]:
        """The mean return."""
        return jnp.mean(outcomes)

    def dual_slope(self, outcomes: Float[Array, " m ..."], dual: Float[Array, ""]) -> Float[Array, ""]:
        """That of (R − y)², which is least at the mean."""
        return 2 * (jnp.mean(outcomes) - dual)

    def excess(self, outcomes: Float[Array, " m ..."], dual: Float[Array, ""]) -> Float[Array, ""]:
        """(E[(R − y)²] − ζ)/ζ."""
        return jnp.mean((outcomes - dual) ** 2) / self.bound - 1

    def lagrangian(
        self, multiplier: Float[Array, ""], outcomes: Float[Array, " m ..."], dual: Float[Array, ""]
    ) -> MeanVariance:
        """Mean-variance at λ = (μ + stiffness · excess)₊/√ζ."""
        felt = jnp.maximum(multiplier + STIFFNESS * self.excess(outcomes, dual), 0)
        return MeanVariance(felt / jnp.sqrt(self.bound))
