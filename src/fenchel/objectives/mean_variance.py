"""Mean minus λ times variance, in the paper's scale and in its natural one."""

from typing import final

import jax.numpy as jnp
from jaxtyping import Array, Float

from fenchel.objectives.base import AbstractObjective, AbstractSurrogate
from fenchel.objectives.checks import require_aversion


@final
class MeanVariance(AbstractSurrogate):
    """J − λ Var(R) by its Legendre-Fenchel dual: ψ(R, y) = R − λ (R − y)², best at y = J.

    >>> import jax.numpy as jnp
    >>> MeanVariance(risk_aversion=0.5).value(jnp.array([1.0, 3.0])).item()
    1.5
    """

    risk_aversion: float | Float[Array, ""] = 1.0

    def __check_init__(self) -> None:
        require_aversion(self.risk_aversion)

    def surrogate(self, ret: Float[Array, ""], dual: Float[Array, ""]) -> Float[Array, ""]:
        """ψ(R, y) = R − λ (R − y)²."""
        return ret - self.risk_aversion * (ret - dual) ** 2

    def best_dual(self, returns: Float[Array, " m"]) -> Float[Array, ""]:
        """The mean return."""
        return jnp.mean(returns)


@final
class FenchelMeanVariance(AbstractSurrogate):
    """The paper's scale (`eq:max-alt`, ζ = 0): ψ(R, y) = 2y (R + 1/(2λ)) − y² − R², best at y = J + 1/(2λ).

    The same problem as `MeanVariance`: with y = η + 1/(2λ), ψ here is ψ there divided by λ, plus 1/(4λ²).

    >>> import jax.numpy as jnp
    >>> FenchelMeanVariance(risk_aversion=0.5).value(jnp.array([1.0, 3.0])).item()  # 1.5 / λ + 1 / (4 λ²)
    4.0
    """

    risk_aversion: float | Float[Array, ""] = 1.0

    def __check_init__(self) -> None:
        require_aversion(self.risk_aversion)

    def surrogate(self, ret: Float[Array, ""], dual: Float[Array, ""]) -> Float[Array, ""]:
        """ψ(R, y) = 2y (R + 1/(2λ)) − y² − R²."""
        return 2 * dual * (ret + 1 / (2 * self.risk_aversion)) - dual**2 - ret**2

    def best_dual(self, returns: Float[Array, " m"]) -> Float[Array, ""]:
        """The mean return plus 1/(2λ)."""
        return jnp.mean(returns) + 1 / (2 * self.risk_aversion)

    def weights(
        self,
        returns: Float[Array, " m"],
        dual: Float[Array, ""],
        sample: Float[Array, " n"] | None = None,
    ) -> Float[Array, " m"]:
        """2yR − R². As ψ(R, y) − ψ(0, y) it would be a small difference of terms near 1/(4λ²).

        In single precision that difference can be off by half a percent for R = 0.001 and λ = 0.01.
        """
        return 2 * dual * returns - returns**2

    def natural(self) -> AbstractObjective:
        """`MeanVariance` with the same λ."""
        return MeanVariance(self.risk_aversion)
