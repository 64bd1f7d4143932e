"""Any surrogate, given as a function."""

import inspect
from collections.abc import Callable
from typing import Any, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from fenchel.errors import require, require_number
from fenchel.objectives.base import AbstractSurrogate

DOUBLINGS = 40
"""How often a bracket of the best dual may be doubled."""

HALVINGS = 40
"""How often it is halved: beyond what a double tells apart in the middle of it."""


@final
class Surrogate(AbstractSurrogate):
    """ψ(R, y) as a function of JAX, concave in y; the best dual is found by bisection on its slope.

    Everything rests on that: where ψ is not concave in y, neither dual nor certificate is right.

    Arguments:
        function: ψ(R, y), or ψ(R, y, λ) where a risk aversion is given.
        risk_aversion: λ, a number that a frontier may go along; None for a function of two arguments.

    >>> import jax.numpy as jnp
    >>> mean_variance = Surrogate(lambda ret, dual, aversion: ret - aversion * (ret - dual) ** 2, 0.5)
    >>> round(mean_variance.value(jnp.array([1.0, 3.0])).item(), 6)
    1.5
    """

    function: Callable[..., Any] = eqx.field(static=True)
    risk_aversion: float | Float[Array, ""] | None = None

    def __check_init__(self) -> None:
        name = getattr(self.function, "__name__", type(self.function).__name__)
        require(callable(self.function), "function", name, "must be a function ψ(R, y)")
        if isinstance(self.risk_aversion, int | float):
            require_number("risk_aversion", self.risk_aversion)
        count = 2 if self.risk_aversion is None else 3
        remedy = f"must take {count} arguments: the return, the dual" + (", the risk aversion" * (count - 2))
        require(takes(self.function, count), "function", name, remedy)
        shape = self._shape() if self.risk_aversion is None or isinstance(self.risk_aversion, float) else ()
        require(shape == (), "function", name, f"gives an array of shape {shape}; it must give one number")

    def surrogate(self, ret: Float[Array, "..."], dual: Float[Array, ""]) -> Float[Array, ""]:
        """What the function says."""
        extra = () if self.risk_aversion is None else (self.risk_aversion,)
        return jnp.asarray(self.function(ret, dual, *extra))

    def best_dual(self, outcomes: Float[Array, " m ..."]) -> Float[Array, ""]:
        """Where the slope of the mean changes its sign; doubling finds two ends, halving the place."""
        low, high = jnp.min(outcomes), jnp.max(outcomes)
        reach = high - low + 1

        def end(sign: float, start: Float[Array, ""]) -> Float[Array, ""]:
            def goes_on(carry: Any) -> Any:
                count, place, _ = carry
                return (count < DOUBLINGS) & (sign * self.dual_slope(outcomes, place) > 0)

            def further(carry: Any) -> Any:
                count, place, step = carry
                return count + 1, place + sign * step, 2 * step

            count, place, _ = jax.lax.while_loop(goes_on, further, (0, start, reach))
            return jnp.where(count < DOUBLINGS, place, jnp.nan)

        def halve(_: Any, ends: Any) -> Any:
            low, high = ends
            middle = (low + high) / 2
            rises = self.dual_slope(outcomes, middle) > 0
            return jnp.where(rises, middle, low), jnp.where(rises, high, middle)

        ends = jax.lax.fori_loop(0, HALVINGS, halve, (end(-1.0, low), end(1.0, high)))
        middle: Float[Array, ""] = (ends[0] + ends[1]) / 2
        return middle

    def _shape(self) -> tuple[int, ...]:
        return tuple(jax.eval_shape(self.surrogate, 0.0, 0.0).shape)


def takes(function: Callable[..., Any], count: int) -> bool:
    """Whether a function can be called with so many arguments."""
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        return False
    except ValueError:  # a builtin that does not tell
        return True
    return True
