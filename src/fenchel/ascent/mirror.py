"""Mirror maps: the geometry in which a block takes its step."""

from abc import abstractmethod
from typing import Any, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from fenchel.errors import InputError


class AbstractMirror(eqx.Module):
    """The step argmax_x ⟨updates, x⟩ − D(x, params)/step for a Bregman distance D."""

    @abstractmethod
    def __call__(self, params: PyTree, updates: PyTree, step: Float[Array, ""]) -> PyTree:
        """The parameters after an ascent step; where `updates` is None they stay as they are."""


@final
class Euclidean(AbstractMirror):
    """D = ½‖x − params‖²: the gradient step.

    >>> import jax.numpy as jnp
    >>> Euclidean()(jnp.array([1.0, 2.0]), jnp.array([4.0, 0.0]), jnp.array(0.5)).tolist()
    [3.0, 2.0]
    """

    def __call__(self, params: PyTree, updates: PyTree, step: Float[Array, ""]) -> PyTree:
        """The parameters plus step · update."""
        return _map(lambda x, update: x + _scale(update, step, x), params, updates)


@final
class Entropic(AbstractMirror):
    """D = KL(x ‖ params) on the probability simplex along the last axis: multiplicative weights.

    Rows stay positive and sum to one; a probability of zero stays zero.

    >>> import jax.numpy as jnp
    >>> row = Entropic()(jnp.array([0.5, 0.5, 0.0]), jnp.array([jnp.log(3.0), 0.0, 9.0]), jnp.array(1.0))
    >>> row.round(6).tolist()
    [0.75, 0.25, 0.0]
    """

    def __call__(self, params: PyTree, updates: PyTree, step: Float[Array, ""]) -> PyTree:
        """Proportional to x · exp(step · update); in logarithms, so that no exponential overflows."""

        def move(x: Array, update: Array) -> Array:
            if x.ndim == 0:
                raise InputError("params", "a number", "the simplex needs an axis of probabilities")
            exponents = jnp.log(x) + _scale(update, step, x)
            return jax.nn.softmax(jnp.where(x > 0, exponents, -jnp.inf), axis=-1)

        return _map(move, params, updates)


MIRRORS: dict[str, type[AbstractMirror]] = {"euclidean": Euclidean, "entropic": Entropic}


def _map(function: Any, params: PyTree, updates: PyTree) -> PyTree:
    def move(update: Any, x: Any) -> Any:
        return x if update is None else function(x, update)

    return jax.tree.map(move, updates, params, is_leaf=lambda update: update is None)


def _scale(update: Array, step: Float[Array, ""], x: Array) -> Array:
    """In the type of the parameters, whatever that of the step size."""
    return jnp.asarray(step, x.dtype) * jnp.asarray(update, x.dtype)
