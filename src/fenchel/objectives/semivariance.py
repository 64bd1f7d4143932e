"""Mean minus λ times the variance below the mean."""

from typing import final

import jax.numpy as jnp
from jaxtyping import Array, Float

from fenchel.objectives.checks import require_aversion
from fenchel.objectives.statistic import AbstractStatistic


@final
class MeanSemivariance(AbstractStatistic):
    """J − λ E[(J − R)₊²]: only what falls short of the mean counts as risk.

    Arguments:
        risk_aversion: λ, above 0.

    >>> import jax.numpy as jnp
    >>> MeanSemivariance(risk_aversion=0.5).value(jnp.array([1.0, 3.0])).item()
    1.75
    """

    risk_aversion: float | Float[Array, ""] = 1.0

    def __check_init__(self) -> None:
        require_aversion(self.risk_aversion)

    def of_law(self, values: Float[Array, " n"], chances: Float[Array, " n"]) -> Float[Array, ""]:
        """J − λ E[(J − R)₊²]."""
        mean = chances @ values
        return mean - self.risk_aversion * (chances @ jnp.maximum(mean - values, 0) ** 2)
