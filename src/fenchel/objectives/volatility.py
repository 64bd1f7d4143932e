"""Mean-variance of the reward of a step instead of the return of an episode."""

from typing import final

import jax.numpy as jnp
from jaxtyping import Array, Float

from fenchel.objectives.base import AbstractSurrogate
from fenchel.objectives.checks import require_aversion


@final
class RewardVolatility(AbstractSurrogate):
    """A − λ (B − A²), with A and B the means of a step's reward and of its square (Zhang et al. 2021).

    ψ of an episode is the mean over its steps of r − λ (r − y)², best at y = A. Steps are weighed by the
    discount; after the end of an episode the reward is 0.

    Arguments:
        risk_aversion: λ, above 0.

    >>> import jax.numpy as jnp
    >>> RewardVolatility(risk_aversion=0.5).value(jnp.array([[1.0, 2.0], [3.0, 10.0]])).item()
    1.0
    """

    risk_aversion: float | Float[Array, ""] = 1.0

    def __check_init__(self) -> None:
        require_aversion(self.risk_aversion)

    @property
    def per_step(self) -> bool:
        """It does."""
        return True

    def surrogate(self, ret: Float[Array, "..."], dual: Float[Array, ""]) -> Float[Array, ""]:
        """A − λ (B − 2yA + y²), of the two means of one episode."""
        mean, square = ret[0], ret[1]
        return mean - self.risk_aversion * (square - 2 * dual * mean + dual**2)

    def best_dual(self, outcomes: Float[Array, " m ..."]) -> Float[Array, ""]:
        """The mean reward."""
        return jnp.mean(outcomes[:, 0])
