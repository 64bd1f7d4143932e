"""The Sharpe ratio, by a dual of its own."""

from typing import final

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from fenchel.errors import require_number
from fenchel.objectives.base import AbstractObjective, AbstractSurrogate
from fenchel.objectives.statistic import AbstractStatistic


@final
class Sharpe(AbstractSurrogate):
    """ψ(R, y) = 2y (R − c) − y² (R − c)², y ≥ 0: its value is S²/(1 + S²), with S the Sharpe ratio.

    The best y is J/M, moments of R − c, or 0 where J is negative.

    Arguments:
        benchmark: c, the return that can be had without risk.

    >>> import jax.numpy as jnp
    >>> Sharpe().natural().value(jnp.array([1.0, 3.0])).item()
    2.0
    """

    benchmark: float | Float[Array, ""] = 0.0

    def __check_init__(self) -> None:
        if isinstance(self.benchmark, int | float):
            require_number("benchmark", self.benchmark)

    def surrogate(self, ret: Float[Array, "..."], dual: Float[Array, ""]) -> Float[Array, ""]:
        """2y (R − c) − y² (R − c)²."""
        above = ret - self.benchmark
        return 2 * dual * above - (dual * above) ** 2

    def best_dual(self, outcomes: Float[Array, " m ..."]) -> Float[Array, ""]:
        """J/M of R − c, and no less than 0."""
        above = outcomes - self.benchmark
        square = jnp.mean(above**2)
        return jnp.maximum(jnp.mean(above), 0) / jnp.where(square > 0, square, 1)

    def weights(
        self,
        outcomes: Float[Array, " m ..."],
        dual: Float[Array, ""],
        sample: Float[Array, " n ..."] | None = None,
    ) -> Float[Array, " m"]:
        """ψ/(2y) = (R − c) − y (R − c)²/2: in the units of the return, and the mean alone where y is 0."""
        above = outcomes - self.benchmark
        return above - dual * above**2 / 2

    def natural(self) -> AbstractObjective:
        """The ratio itself."""
        return SharpeRatio(self.benchmark)


@final
class SharpeRatio(AbstractStatistic):
    """(J − c)/σ: infinite for a sure return above c, and 0 for a sure return of c.

    Arguments:
        benchmark: c.
    """

    benchmark: float | Float[Array, ""] = 0.0

    def of_law(self, values: Float[Array, " n"], chances: Float[Array, " n"]) -> Float[Array, ""]:
        """(J − c)/σ."""
        mean = chances @ values
        spread = chances @ (values - mean) ** 2
        above, sure = mean - self.benchmark, spread <= 0
        ratio = above / jnp.sqrt(jnp.where(sure, 1, spread))
        limit = jax.lax.stop_gradient(jnp.where(above == 0, 0, jnp.sign(above) * jnp.inf))
        return jnp.where(sure, limit, ratio)
