"""Entropic risk: the certainty equivalent of exponential utility."""

from typing import final

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from fenchel.objectives.base import AbstractSurrogate
from fenchel.objectives.checks import require_aversion


@final
class Entropic(AbstractSurrogate):
    """−log E[e^{−βR}]/β: ψ(R, y) = y + (1 − e^{−β(R − y)})/β, best at the value itself.

    Arguments:
        risk_aversion: β, above 0.

    >>> import jax.numpy as jnp
    >>> round(Entropic(risk_aversion=2.0).value(jnp.array([0.0, 1.0])).item(), 6)
    0.28311
    """

    risk_aversion: float | Float[Array, ""] = 1.0

    def __check_init__(self) -> None:
        require_aversion(self.risk_aversion)

    def surrogate(self, ret: Float[Array, ""], dual: Float[Array, ""]) -> Float[Array, ""]:
        """ψ(R, y) = y + (1 − e^{−β(R − y)})/β."""
        return dual - jnp.expm1(-self.risk_aversion * (ret - dual)) / self.risk_aversion

    def best_dual(self, returns: Float[Array, " m"]) -> Float[Array, ""]:
        """−log mean e^{−βR}/β."""
        exponents = -self.risk_aversion * returns
        log_mean = jax.nn.logsumexp(exponents) - jnp.log(returns.shape[0]).astype(returns.dtype)
        return -log_mean / self.risk_aversion
