"""Proximal operators: what a penalty −r(x), or a constraint, does to a block after its gradient step.

Each solves argmin_x step·r(x) + ½‖x − params‖². A projection is the case of an r that is 0 on a set and
infinite off it, so the step size does not matter to it.
"""

from abc import abstractmethod
from collections.abc import Callable
from functools import reduce
from typing import final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from fenchel.errors import InputError, require, require_nonnegative, require_positive

Number = float | Float[Array, ""]


class AbstractProx(eqx.Module):
    """A proximal operator on the floating-point leaves of a block; anything else passes through."""

    @abstractmethod
    def __call__(self, params: PyTree, step: Float[Array, ""]) -> PyTree:
        """The parameters after a penalty of weight `step`."""


@final
class L1(AbstractProx):
    """r(x) = strength · ‖x‖₁: every number moves towards zero by step · strength, and stops there.

    >>> import jax.numpy as jnp
    >>> L1(2.0)(jnp.array([-3.0, 0.5]), jnp.array(0.5)).tolist()
    [-2.0, 0.0]
    """

    strength: Number

    def __check_init__(self) -> None:
        _require_strength(self.strength)

    def __call__(self, params: PyTree, step: Float[Array, ""]) -> PyTree:
        """sign(x) (|x| − step · strength)₊."""

        def shrink(x: Array) -> Array:
            return jnp.sign(x) * jnp.maximum(jnp.abs(x) - _like(step * self.strength, x), 0)

        return _map(shrink, params)


@final
class GroupL1(AbstractProx):
    """r(x) = strength · Σ_g ‖x_g‖₂ over the groups g of each leaf: whole groups vanish together.

    A group is one entry along `axis`, with all the other axes: by default a row, so a state of a table or an
    action of a linear policy; with axis=1 a feature of a linear policy. A vector or a number is one group.

    >>> import jax.numpy as jnp
    >>> GroupL1(1.0)(jnp.array([[3.0, 4.0], [0.3, 0.4]]), jnp.array(2.5)).tolist()
    [[1.5, 2.0], [0.0, 0.0]]
    """

    strength: Number
    axis: int = eqx.field(static=True, default=0)

    def __check_init__(self) -> None:
        _require_strength(self.strength)

    def __call__(self, params: PyTree, step: Float[Array, ""]) -> PyTree:
        """x_g (1 − step · strength/‖x_g‖)₊."""

        def shrink(x: Array) -> Array:
            length = jnp.sqrt(jnp.sum(x**2, axis=self._others(x.ndim), keepdims=True))
            kept = jnp.maximum(length - _like(step * self.strength, x), 0)
            return x * (kept / jnp.where(length > 0, length, 1))

        return _map(shrink, params)

    def _others(self, ndim: int) -> tuple[int, ...]:
        if ndim < 2:
            return tuple(range(ndim))
        require(-ndim <= self.axis < ndim, "axis", self.axis, f"there is a leaf with {ndim} axes only")
        return tuple(axis for axis in range(ndim) if axis != self.axis % ndim)


@final
class SquaredL2(AbstractProx):
    """r(x) = ½ strength · ‖x‖², weight decay.

    >>> import jax.numpy as jnp
    >>> SquaredL2(2.0)(jnp.array([4.0]), jnp.array(0.5)).tolist()
    [2.0]
    """

    strength: Number

    def __check_init__(self) -> None:
        _require_strength(self.strength)

    def __call__(self, params: PyTree, step: Float[Array, ""]) -> PyTree:
        """The numbers divided by 1 + step · strength."""
        return _map(lambda x: x / _like(1 + step * self.strength, x), params)


@final
class Box(AbstractProx):
    """Projection of every number onto [lower, upper], of the dual for instance.

    >>> import jax.numpy as jnp
    >>> Box(0.0, 1.0)(jnp.array([-3.0, 0.5]), jnp.array(1.0)).tolist()
    [0.0, 0.5]
    """

    lower: Number
    upper: Number

    def __check_init__(self) -> None:
        if isinstance(self.lower, int | float) and isinstance(self.upper, int | float):
            bounds = (self.lower, self.upper)
            require(self.lower <= self.upper, "lower, upper", bounds, "lower must not exceed upper")

    def __call__(self, params: PyTree, step: Float[Array, ""]) -> PyTree:
        """Least of upper and the greatest of lower and x."""
        return _map(lambda x: jnp.clip(x, _like(self.lower, x), _like(self.upper, x)), params)


@final
class Simplex(AbstractProx):
    """Euclidean projection of the last axis onto the probability simplex, exact.

    >>> import jax.numpy as jnp
    >>> Simplex()(jnp.array([1.0, 0.5, -3.0]), jnp.array(1.0)).tolist()
    [0.75, 0.25, 0.0]
    """

    def __call__(self, params: PyTree, step: Float[Array, ""]) -> PyTree:
        """(x − τ)₊ with the τ that makes the sum one."""
        return _map(_project_simplex, params)


@final
class Ball(AbstractProx):
    """Euclidean projection of all the numbers of the block, taken together, onto a ball around zero.

    >>> import jax.numpy as jnp
    >>> Ball(5.0)({"a": jnp.array(6.0), "b": jnp.array(8.0)}, jnp.array(1.0))["b"].item()
    4.0
    """

    radius: Number

    def __check_init__(self) -> None:
        if isinstance(self.radius, int | float):
            require_positive("radius", self.radius)

    def __call__(self, params: PyTree, step: Float[Array, ""]) -> PyTree:
        """The numbers times min(1, radius/‖x‖)."""
        leaves = [x for x in jax.tree.leaves(params) if eqx.is_inexact_array(x)]
        squares = [jnp.sum(x**2) for x in leaves]
        length = jnp.sqrt(reduce(jnp.add, squares, jnp.zeros(())))
        factor = self.radius / jnp.maximum(length, self.radius)
        return _map(lambda x: x * _like(factor, x), params)


PROXES: dict[str, type[AbstractProx]] = {
    "l1": L1,
    "group-l1": GroupL1,
    "squared-l2": SquaredL2,
    "box": Box,
    "simplex": Simplex,
    "ball": Ball,
}


def _project_simplex(x: Float[Array, "... n"]) -> Float[Array, "... n"]:
    """With the entries in falling order, τ = (Σ_{j≤k} x_j − 1)/k for the last k that leaves x_k above τ.

    τ is the largest of these numbers over k, which spares the search for that k.
    """
    if x.ndim == 0:
        raise InputError("params", "a number", "the simplex needs an axis of probabilities")
    x = x - jnp.max(x, axis=-1, keepdims=True)  # the projection ignores shifts, rounding does not
    sums = jnp.cumsum(-jnp.sort(-x, axis=-1), axis=-1)
    counts = jnp.arange(1, x.shape[-1] + 1, dtype=x.dtype).reshape((1,) * (x.ndim - 1) + (-1,))
    threshold = jnp.max((sums - 1) / counts, axis=-1, keepdims=True)
    return jnp.maximum(x - threshold, 0)


def _map(function: Callable[[Array], Array], params: PyTree) -> PyTree:
    return jax.tree.map(lambda x: function(x) if eqx.is_inexact_array(x) else x, params)


def _like(number: Number, x: Array) -> Float[Array, ""]:
    return jnp.asarray(number, x.dtype)


def _require_strength(strength: Number) -> None:
    if isinstance(strength, int | float):
        require_nonnegative("strength", strength)
