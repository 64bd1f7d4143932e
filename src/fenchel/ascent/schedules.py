"""Step sizes as functions of the iteration."""

from abc import abstractmethod
from typing import final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from fenchel.errors import require, require_nonnegative, require_number, require_positive


class AbstractSchedule(eqx.Module):
    """A step size β_t. Its numbers are array leaves in training, so one program serves many of them.

    Arguments:
        value: base step size β, the step size of the first iteration.
    """

    value: float | Float[Array, ""]

    @abstractmethod
    def __call__(self, iteration: Int[Array, "..."]) -> Float[Array, "..."]:
        """β_t for t = `iteration`, counted from zero."""

    def __check_init__(self) -> None:
        if isinstance(self.value, int | float):
            require_nonnegative("value", self.value)


@final
class Constant(AbstractSchedule):
    """β_t = β: with a uniformly drawn iterate, Option II of the paper.

    >>> import jax.numpy as jnp
    >>> Constant(0.5)(jnp.array(7)).item()
    0.5
    """

    def __call__(self, iteration: Int[Array, "..."]) -> Float[Array, "..."]:
        """β."""
        return jnp.broadcast_to(self.value, jnp.shape(iteration))


@final
class RobbinsMonro(AbstractSchedule):
    """β_t = β/(1 + t/t₀)^a: with the last iterate, Option I of the paper.

    With ½ < a ≤ 1 the steps sum to infinity and their squares do not.

    Arguments:
        value: β.
        offset: t₀, the number of iterations after which the step size has fallen to β/2^a.
        exponent: a.

    >>> import jax.numpy as jnp
    >>> RobbinsMonro(0.5, offset=10.0)(jnp.array(10)).item()
    0.25
    """

    offset: float | Float[Array, ""] = 1.0
    exponent: float | Float[Array, ""] = 1.0

    def __check_init__(self) -> None:
        if isinstance(self.offset, int | float):
            require_positive("offset", self.offset)
        if isinstance(self.exponent, int | float):
            fits = 0.5 < require_number("exponent", self.exponent) <= 1
            require(fits, "exponent", self.exponent, "must be above 1/2 and at most 1")

    def __call__(self, iteration: Int[Array, "..."]) -> Float[Array, "..."]:
        """β/(1 + t/t₀)^a."""
        return self.value * (1 + iteration / self.offset) ** -self.exponent


class _AbstractSpan(AbstractSchedule):
    """A step size that is zero from some iteration on.

    Arguments:
        length: T, the number of iterations until then.
    """

    length: float | Float[Array, ""] = 1.0

    def __check_init__(self) -> None:
        if isinstance(self.length, int | float):
            require_positive("length", self.length)

    def done(self, iteration: Int[Array, "..."]) -> Float[Array, "..."]:
        """t/T, and one from T on."""
        return jnp.minimum(iteration / self.length, 1)


@final
class Cosine(_AbstractSpan):
    """β_t = β (1 + cos(π t/T))/2: large steps first, and none at the end, which averages the last batches.

    Arguments:
        value: β.
        length: T, the number of iterations.

    >>> import jax.numpy as jnp
    >>> Cosine(0.5, length=10.0)(jnp.array([0, 5, 10, 11])).tolist()
    [0.5, 0.25, 0.0, 0.0]
    """

    def __call__(self, iteration: Int[Array, "..."]) -> Float[Array, "..."]:
        """β (1 + cos(π t/T))/2."""
        return self.value * (1 + jnp.cos(jnp.pi * self.done(iteration))) / 2


@final
class Fading(_AbstractSpan):
    """β_t = β (1 − t/T)², and zero from T on: for what helps at first and must not matter in the end.

    Arguments:
        value: β.
        length: T, the number of iterations.

    >>> import jax.numpy as jnp
    >>> Fading(0.5, length=10.0)(jnp.array([0, 5, 10, 11])).tolist()
    [0.5, 0.125, 0.0, 0.0]
    """

    def __call__(self, iteration: Int[Array, "..."]) -> Float[Array, "..."]:
        """β (1 − t/T)²."""
        return self.value * (1 - self.done(iteration)) ** 2


def averaging(value: float | Float[Array, ""] = 1.0) -> RobbinsMonro:
    """β/(1 + t/2): with Newton steps, a mean of what batches suggest in which later ones count more.

    >>> import jax.numpy as jnp
    >>> averaging()(jnp.array([0, 2, 6])).tolist()
    [1.0, 0.5, 0.25]
    """
    return RobbinsMonro(value, offset=2.0, exponent=1.0)


SCHEDULES: dict[str, type[AbstractSchedule]] = {
    "constant": Constant,
    "robbins-monro": RobbinsMonro,
    "cosine": Cosine,
}
