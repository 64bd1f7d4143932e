"""Features: fixed maps from an observation to the vector a linear or neural policy works on."""

from abc import abstractmethod
from collections.abc import Iterable
from typing import final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Num

from fenchel.errors import InputError, require, require_count, require_number


class AbstractFeatures(eqx.Module):
    """A fixed map φ(s). The parameters of a policy are its array leaves, so features hold none."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Length of φ(s)."""

    @abstractmethod
    def __call__(self, observation: Num[Array, "..."]) -> Float[Array, " size"]:
        """φ(s)."""

    @property
    def constant(self) -> tuple[float, ...] | None:
        """Weights w with w·φ(s) = 1 for every s, where there are such weights."""
        return None

    def __check_init__(self) -> None:
        if jax.tree.leaves(self):
            remedy = "must be constant: declare every field with eqx.field(static=True)"
            raise InputError("features", type(self).__name__, remedy)


@final
class Raw(AbstractFeatures):
    """The numbers of the observation as they are: φ(s) = s.

    >>> import jax.numpy as jnp
    >>> Raw(2)(jnp.array([0.5, 3.0])).tolist()
    [0.5, 3.0]
    """

    dimension: int = eqx.field(static=True)

    def __check_init__(self) -> None:
        require_count("dimension", self.dimension)

    @property
    def size(self) -> int:
        """Numbers in an observation."""
        return self.dimension

    def __call__(self, observation: Num[Array, "..."]) -> Float[Array, " size"]:
        """The observation, flattened."""
        return flat(observation, self.dimension)


@final
class OneHot(AbstractFeatures):
    """The indicator of a state's index: a linear policy over it is a tabular one.

    >>> import jax.numpy as jnp
    >>> OneHot(3)(jnp.array(1)).tolist()
    [0.0, 1.0, 0.0]
    """

    states: int = eqx.field(static=True)

    def __check_init__(self) -> None:
        require_count("states", self.states)

    @property
    def size(self) -> int:
        """Number of states."""
        return self.states

    @property
    def constant(self) -> tuple[float, ...]:
        """The indicators sum to one."""
        return (1.0,) * self.states

    def __call__(self, observation: Int[Array, ""]) -> Float[Array, " size"]:
        """Zero but for a one at the index."""
        return jnp.asarray(jax.nn.one_hot(require_index(observation), self.states))


def floats(values: Iterable[float]) -> tuple[float, ...]:
    """`values` as a tuple of plain numbers."""
    return tuple(float(value) for value in values)


@final
class Scaled(AbstractFeatures):
    """Each coordinate of the box [low, high] mapped affinely onto the same interval, [−1, 1] by default.

    >>> import jax.numpy as jnp
    >>> Scaled((0.0, 0.0), (1.0, 20.0))(jnp.array([0.5, 20.0])).tolist()
    [0.0, 1.0]
    """

    low: tuple[float, ...] = eqx.field(static=True, converter=floats)
    high: tuple[float, ...] = eqx.field(static=True, converter=floats)
    onto: tuple[float, ...] = eqx.field(static=True, converter=floats, default=(-1.0, 1.0))

    def __check_init__(self) -> None:
        remedy = f"must have one number for each of low, which has {len(self.low)}"
        require(len(self.low) == len(self.high), "high", self.high, remedy)
        for low, high in zip(self.low, self.high, strict=True):
            _require_ordered("low, high", low, high)
        require(len(self.onto) == 2, "onto", self.onto, "must be a pair such as (-1, 1)")
        _require_ordered("onto", *self.onto)

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return len(self.low)

    def __call__(self, observation: Num[Array, "..."]) -> Float[Array, " size"]:
        """onto₀ + (s − low) (onto₁ − onto₀)/(high − low)."""
        values = flat(observation, self.size)
        low, high = np.asarray(self.low), np.asarray(self.high)
        slope = (self.onto[1] - self.onto[0]) / (high - low)
        shift = self.onto[0] - low * slope
        return values * jnp.asarray(slope, values.dtype) + jnp.asarray(shift, values.dtype)


def require_index(observation: Int[Array, ""]) -> Int[Array, ""]:
    """`observation`, a single whole number; an `InputError` while tracing otherwise."""
    shape, dtype = jnp.shape(observation), jnp.result_type(observation)
    if shape != () or not jnp.issubdtype(dtype, jnp.integer):
        remedy = "a table takes the index of a state; observe the index, or use a linear or mlp policy"
        raise InputError("observation", f"{dtype.name}{list(shape)}", remedy)
    return observation


def flat(observation: Num[Array, "..."], size: int) -> Float[Array, " size"]:
    """The numbers of an observation in floating point; an `InputError` unless there are `size` of them."""
    values = jnp.ravel(observation)
    remedy = f"these features take {size} numbers: build them for the shape of the observation"
    require(values.shape[0] == size, "observation.shape", jnp.shape(observation), remedy)
    inexact = jnp.issubdtype(values.dtype, jnp.inexact)
    return values if inexact else values.astype(jnp.result_type(float))


def _require_ordered(field: str, low: float, high: float) -> None:
    require(require_number(field, low) < require_number(field, high), field, (low, high), "must increase")
