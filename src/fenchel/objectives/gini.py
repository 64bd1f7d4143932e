"""Mean minus λ times the Gini deviation."""

from typing import final

import jax.numpy as jnp
from jaxtyping import Array, Float

from fenchel.objectives.checks import require_aversion
from fenchel.objectives.statistic import AbstractStatistic


@final
class GiniDeviation(AbstractStatistic):
    """J − λ E|R − R′|/2, with R′ an independent copy of R (Luo et al. 2023).

    The Gini deviation is ∫ F (1 − F) over all returns, F their distribution function: it has the units of the
    return, and does not grow with the square of the outliers.

    Arguments:
        risk_aversion: λ, above 0.

    >>> import jax.numpy as jnp
    >>> GiniDeviation(risk_aversion=1.0).value(jnp.array([1.0, 3.0])).item()
    1.5
    """

    risk_aversion: float | Float[Array, ""] = 1.0

    def __check_init__(self) -> None:
        require_aversion(self.risk_aversion)

    def of_law(self, values: Float[Array, " n"], chances: Float[Array, " n"]) -> Float[Array, ""]:
        """J − λ Σ F (1 − F) times the distance to the next value."""
        order = jnp.argsort(values)
        ranked = values[order]
        below = jnp.cumsum(chances[order])[:-1]
        deviation = jnp.sum(below * (1 - below) * jnp.diff(ranked))
        return chances @ values - self.risk_aversion * deviation
