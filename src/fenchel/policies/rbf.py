"""Radial basis functions on a grid."""

from collections.abc import Iterable
from functools import reduce
from math import prod
from typing import final

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num

from fenchel.errors import require, require_number, require_positive
from fenchel.policies.features import AbstractFeatures, flat, floats

_WIDEST_GAP = 20
"""Most widths between neighbouring centres; halfway a bump is e⁻⁵⁰ then, a number in single precision too."""


def _grid(centres: Iterable[Iterable[float]]) -> tuple[tuple[float, ...], ...]:
    return tuple(floats(axis) for axis in centres)


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
    widths: tuple[float, ...] = eqx.field(static=True, converter=floats)
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
        values = flat(observation, len(self.centres))
        profile = _weights if self.normalised else _bumps
        rows = [profile(values[d], np.asarray(c), w) for d, (c, w) in enumerate(self._axes())]
        return reduce(lambda left, right: jnp.outer(left, right).ravel(), rows)

    def _axes(self) -> Iterable[tuple[tuple[float, ...], float]]:
        return zip(self.centres, self.widths, strict=True)


def tamar2014() -> RBF:
    """Normalised bumps at prices 0, 0.4, …, 2.8 and steps 0, 6, 12, 18 of the American option.

    The widths are not published; they are one grid spacing here.

    >>> tamar2014().size
    32
    """
    prices = tuple(round(0.4 * k, 1) for k in range(8))
    return RBF((prices, (0.0, 6.0, 12.0, 18.0)), (0.4, 6.0))


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
