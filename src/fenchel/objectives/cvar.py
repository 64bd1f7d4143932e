"""Conditional value at risk: the mean of the worst outcomes."""

from typing import final

import jax.numpy as jnp
from jaxtyping import Array, Float

from fenchel.errors import require, require_number
from fenchel.objectives.base import AbstractSurrogate


@final
class CVaR(AbstractSurrogate):
    """Mean of the worst share α of the returns: ψ(R, y) = y − (y − R)₊/α, best at the α-quantile.

    Arguments:
        level: α, above 0 and at most 1, where it is the expected return.

    >>> import jax.numpy as jnp
    >>> CVaR(level=0.5).value(jnp.array([4.0, 1.0, 2.0, 3.0])).item()
    1.5
    """

    level: float | Float[Array, ""] = 0.05

    def __check_init__(self) -> None:
        if isinstance(self.level, int | float):
            fits = 0 < require_number("level", self.level) <= 1
            require(fits, "level", self.level, "must be above 0 and at most 1")

    def surrogate(self, ret: Float[Array, ""], dual: Float[Array, ""]) -> Float[Array, ""]:
        """ψ(R, y) = y − (y − R)₊/α."""
        return dual - jnp.maximum(dual - ret, 0) / self.level

    def phased(self, share: Float[Array, ""]) -> "CVaR":
        """The level α^κ, from 1 to α."""
        return CVaR(jnp.asarray(self.level) ** share)

    def best_dual(self, returns: Float[Array, " m"]) -> Float[Array, ""]:
        """The ⌈αm⌉-th smallest return."""
        count = returns.shape[0]
        rank = jnp.ceil(jnp.asarray(self.level, returns.dtype) * count * (1 - ROUNDING)) - 1
        return jnp.sort(returns)[jnp.clip(rank, 0, count - 1).astype(jnp.int32)]


ROUNDING = 1e-6
"""What is taken off αm, so that 0.05 × 20 in floating point is one return and not two."""
