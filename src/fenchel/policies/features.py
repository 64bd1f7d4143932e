"""Features: fixed maps from an observation to the vector a linear or neural policy works on."""

from abc import abstractmethod
from collections.abc import Iterable
from functools import reduce
from math import prod
from typing import final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Num

from fenchel.errors import InputError, require, require_count, require_number, require_positive

_WIDEST_GAP = 20
"""Most widths between neighbouring centres; halfway a bump is e⁻⁵⁰ then, a number in single precision too."""


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
        return _flat(observation, self.dimension)


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


def _floats(values: Iterable[float]) -> tuple[float, ...]:
    return tuple(float(value) for value in values)


def _grid(centres: Iterable[Iterable[float]]) -> tuple[tuple[float, ...], ...]:
    return tuple(_floats(axis) for axis in centres)


@final
class Scaled(AbstractFeatures):
    """Each coordinate of the box [low, high] mapped affinely onto the same interval, [−1, 1] by default.

    >>> import jax.numpy as jnp
    >>> Scaled((0.0, 0.0), (1.0, 20.0))(jnp.array([0.5, 20.0])).tolist()
    [0.0, 1.0]
    """

    low: tuple[float, ...] = eqx.field(static=True, converter=_floats)
    high: tuple[float, ...] = eqx.field(static=True, converter=_floats)
    onto: tuple[float, ...] = eqx.field(static=True, converter=_floats, default=(-1.0, 1.0))

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
        values = _flat(observation, self.size)
        low, high = np.asarray(self.low), np.asarray(self.high)
        slope = (self.onto[1] - self.onto[0]) / (high - low)
        shift = self.onto[0] - low * slope
        return values * jnp.asarray(slope, values.dtype) + jnp.asarray(shift, values.dtype)


@final
class RBF(AbstractFeatures):
    """Gaussian bumps exp(−Σ_d (s_d − c_d)²/(2 w_d²)) on a product grid of centres.

    The last dimension runs fastest. Normalised bumps sum to one. The sum over a product grid is the product
    of sums, so each dimension is normalised by itself: an exponential per centre, not per feature.

    Arguments:
        centres: those of each dimension, as many tuples as the observation has numbers.
        widths: w, one per dimension.
        normalised: whether the features sum to one.

    >>> import jax.numpy as jnp
    >>> RBF(((0.0, 1.0), (0.0, 1.0)), (0.1, 0.1))(jnp.array([0.5, 1.0])).round(3).tolist()
    [0.0, 0.5, 0.0, 0.5]
    """

    centres: tuple[tuple[float, ...], ...] = eqx.field(static=True, converter=_grid)
    widths: tuple[float, ...] = eqx.field(static=True, converter=_floats)
    normalised: bool = eqx.field(static=True, default=True)

    def __check_init__(self) -> None:
        remedy = "must be a non-empty tuple of numbers per dimension, such as ((0.0, 0.5, 1.0), (0.0, 10.0))"
        require(bool(self.centres) and all(self.centres), "centres", self.centres, remedy)
        for centre in (centre for axis in self.centres for centre in axis):
            require_number("centres", centre)
        remedy = f"must have one number per dimension, so {len(self.centres)}"
        require(len(self.widths) == len(self.centres), "widths", self.widths, remedy)
        for width, axis in zip(self.widths, self.centres, strict=True):
            require_positive("widths", width)
            gap = float(np.max(np.diff(np.sort(axis)), initial=0.0)) if self.normalised else 0.0
            remedy = f"every bump is zero between centres {gap:g} apart: at least {gap / _WIDEST_GAP:g}"
            require(gap <= _WIDEST_GAP * width, "widths", width, remedy)

    @property
    def size(self) -> int:
        """Number of grid points."""
        return prod(len(axis) for axis in self.centres)

    @property
    def constant(self) -> tuple[float, ...] | None:
        """All ones where the features are normalised."""
        return (1.0,) * self.size if self.normalised else None

    def __call__(self, observation: Num[Array, "..."]) -> Float[Array, " size"]:
        """The bumps at s."""
        values = _flat(observation, len(self.centres))
        profile = _weights if self.normalised else _bumps
        rows = [profile(values[d], np.asarray(c), w) for d, (c, w) in enumerate(self._axes())]
        return reduce(lambda left, right: jnp.outer(left, right).ravel(), rows)

    def _axes(self) -> Iterable[tuple[tuple[float, ...], float]]:
        return zip(self.centres, self.widths, strict=True)


@final
class Bias(AbstractFeatures):
    """Other features with a constant 1 appended.

    >>> import jax.numpy as jnp
    >>> Bias(Raw(2))(jnp.array([0.5, 3.0])).tolist()
    [0.5, 3.0, 1.0]
    """

    features: AbstractFeatures

    @property
    def size(self) -> int:
        """One more than that of the features."""
        return self.features.size + 1

    @property
    def constant(self) -> tuple[float, ...]:
        """Zero but for the last."""
        return (0.0,) * self.features.size + (1.0,)

    def __call__(self, observation: Num[Array, "..."]) -> Float[Array, " size"]:
        """(φ(s), 1)."""
        values = self.features(observation)
        return jnp.concatenate([values, jnp.ones(1, values.dtype)])


def tamar2014() -> RBF:
    """Normalised bumps at prices 0, 0.4, …, 2.8 and steps 0, 6, 12, 18 of the American option.

    The widths are not published; they are one grid spacing here.

    >>> tamar2014().size
    32
    """
    prices = tuple(round(0.4 * k, 1) for k in range(8))
    return RBF((prices, (0.0, 6.0, 12.0, 18.0)), (0.4, 6.0))


def require_index(observation: Int[Array, ""]) -> Int[Array, ""]:
    """`observation`, a single whole number; an `InputError` while tracing otherwise."""
    shape, dtype = jnp.shape(observation), jnp.result_type(observation)
    if shape != () or not jnp.issubdtype(dtype, jnp.integer):
        remedy = "a table takes the index of a state; observe the index, or use a linear or mlp policy"
        raise InputError("observation", f"{dtype.name}{list(shape)}", remedy)
    return observation


def _flat(observation: Num[Array, "..."], size: int) -> Float[Array, " size"]:
    values = jnp.ravel(observation)
    remedy = f"these features take {size} numbers: build them for the shape of the observation"
    require(values.shape[0] == size, "observation.shape", jnp.shape(observation), remedy)
    inexact = jnp.issubdtype(values.dtype, jnp.inexact)
    return values if inexact else values.astype(jnp.result_type(float))


def _bumps(value: Float[Array, ""], centres: Float[np.ndarray, " n"], width: float) -> Float[Array, " n"]:
    return jnp.exp(-0.5 * ((value - jnp.asarray(centres, value.dtype)) / width) ** 2)


def _weights(value: Float[Array, ""], centres: Float[np.ndarray, " n"], width: float) -> Float[Array, " n"]:
    """Normalised bumps, each relative to a bump centred at the point n of the grid's span nearest to s.

    (s − n)²/2 − (s − c)²/2 = (c − n)(s − (c + n)/2) is at most zero, and never far below it at the nearest
    centre: no overflow, no loss of digits at any distance, and no search for the largest exponent.
    """
    places = jnp.asarray(centres / width, value.dtype)
    place = value / width
    nearest = jnp.clip(place, float(np.min(centres)) / width, float(np.max(centres)) / width)
    bumps = jnp.exp((places - nearest) * (place - 0.5 * (places + nearest)))
    return bumps / jnp.sum(bumps)


def _require_ordered(field: str, low: float, high: float) -> None:
    require(require_number(field, low) < require_number(field, high), field, (low, high), "must increase")
