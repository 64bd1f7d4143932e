"""The risk-neutral objective."""

from typing import ClassVar, final

import jax.numpy as jnp
from jaxtyping import Array, Float

from fenchel.objectives.base import AbstractSurrogate


@final
class Expectation(AbstractSurrogate):
    """Expected return: ψ(R, y) = R, whatever the dual.

    >>> import jax.numpy as jnp
    >>> Expectation().value(jnp.array([1.0, 3.0])).item()
    2.0
    """

    has_dual: ClassVar[bool] = False

    def surrogate(self, ret: Float[Array, ""], dual: Float[Array, ""]) -> Float[Array, ""]:
        """ψ(R, y) = R."""
        return ret + 0.0 * dual

    def best_dual(self, returns: Float[Array, " m"]) -> Float[Array, ""]:
        """No dual: zero."""
        return jnp.zeros((), returns.dtype)
