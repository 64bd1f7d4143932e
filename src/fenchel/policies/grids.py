"""Features that fit the observation space of an environment."""

from collections.abc import Callable
from math import prod
from typing import Any

import gymnasium
import numpy as np

from fenchel.errors import InputError, require, require_choice, require_count
from fenchel.policies.checks import HasSpaces, require_space
from fenchel.policies.combined import Beside
from fenchel.policies.features import AbstractFeatures, OneHot, Raw, Scaled
from fenchel.policies.rbf import RBF, tamar2014

MOST_GRID_DIMENSIONS = 4
"""A product grid grows like the power of its dimension; five centres in five dimensions are 3125 features."""

_DEFAULT_CENTRES = 5
"""Centres per dimension: enough for a bump in the middle, at both ends and halfway between."""


def make_features(
    env: HasSpaces,
    features: str | AbstractFeatures | None = None,
    rbf_grid: tuple[int, ...] | None = None,
    rbf_centres: tuple[tuple[float, ...], ...] | None = None,
    rbf_widths: tuple[float, ...] | None = None,
) -> AbstractFeatures:
    """Features by name, as `make_policy` describes them; features of your own pass through."""
    asked = {"rbf_grid": rbf_grid, "rbf_centres": rbf_centres, "rbf_widths": rbf_widths}
    if features is None and any(value is not None for value in asked.values()):
        features = "rbf"
    if features != "rbf":
        for field, value in asked.items():
            require(value is None, field, value, "goes with features='rbf'")
    if isinstance(features, AbstractFeatures):
        return features
    space = require_space("observation_space", env.observation_space)
    if features == "rbf":
        return _rbf(_box(features, space), rbf_grid, rbf_centres, rbf_widths)
    features = _default(space) if features is None else features
    require_choice("features", features, FEATURES)
    return FEATURES[features](space)


def grid_features(space: gymnasium.Space[Any], centres: tuple[tuple[float, ...], ...]) -> AbstractFeatures:
    """Radial bumps over as many numbers of the observation as there are axes, beside the others scaled."""
    box, count = _box("rbf", space), len(centres)
    remedy = f"has more dimensions than the observation, {prod(box.shape)}"
    require(count <= prod(box.shape), "feature_grid", centres, remedy)
    bumps = RBF(centres, tuple(_spacing(axis) for axis in centres))
    return bumps if count == prod(box.shape) else Beside(bumps, count, _scaling(box, count))


def _default(space: gymnasium.Space[Any]) -> str:
    return "onehot" if isinstance(space, gymnasium.spaces.Discrete) else "scaled"


def _raw(space: gymnasium.Space[Any]) -> Raw:
    return Raw(prod(_box("raw", space).shape))


def _onehot(space: gymnasium.Space[Any]) -> OneHot:
    if isinstance(space, gymnasium.spaces.Discrete):
        return OneHot(int(space.n))
    raise InputError("features", "onehot", f"needs a Discrete observation, and this one is {space}")


def _scaled(space: gymnasium.Space[Any]) -> Scaled:
    return _scaling(_box("scaled", space))


def _scaling(box: gymnasium.spaces.Box, first: int = 0) -> Scaled:
    """Coordinates without finite bounds stay as they are: [−1, 1] is mapped onto itself."""
    bounded = _is_bounded(box)
    low, high = np.where(bounded, box.low, -1.0), np.where(bounded, box.high, 1.0)
    return Scaled(tuple(low.ravel().tolist()[first:]), tuple(high.ravel().tolist()[first:]))


def _tamar2014(space: gymnasium.Space[Any]) -> RBF:
    shape = _box("tamar2014", space).shape
    require(shape == (2,), "features", "tamar2014", f"needs a price and a step, and observations are {shape}")
    return tamar2014()


def _rbf(
    box: gymnasium.spaces.Box,
    grid: tuple[int, ...] | None,
    centres: tuple[tuple[float, ...], ...] | None,
    widths: tuple[float, ...] | None,
) -> RBF:
    count = prod(box.shape)
    if centres is None:
        centres = _spaced(box, (_DEFAULT_CENTRES,) * count if grid is None else grid)
    else:
        require(grid is None, "rbf_grid", grid, "rbf_centres says where the centres are; give one of the two")
    remedy = f"must have a tuple per dimension of the observation, which has {count}"
    require(len(centres) == count, "rbf_centres", centres, remedy)
    if widths is None:
        widths = tuple(_spacing(axis) for axis in centres)
    return RBF(centres, widths)


def _spaced(box: gymnasium.spaces.Box, grid: tuple[int, ...]) -> tuple[tuple[float, ...], ...]:
    count = prod(box.shape)
    require(len(grid) == count, "rbf_grid", grid, f"must have {count} numbers, one per dimension")
    for number in grid:
        require_count("rbf_grid", number, 2)
    remedy = (
        f"{count} dimensions make {prod(grid)} features; use features='scaled' with a linear or mlp policy"
    )
    require(count <= MOST_GRID_DIMENSIONS, "features", "rbf", remedy)
    unbounded = np.flatnonzero(~_is_bounded(box).ravel()).tolist()
    remedy = f"the observation has no finite bounds in dimensions {unbounded}; give rbf_centres instead"
    require(not unbounded, "features", "rbf", remedy)
    bounds = zip(box.low.ravel(), box.high.ravel(), grid, strict=True)
    return tuple(tuple(np.linspace(float(low), float(high), n).tolist()) for low, high, n in bounds)


def _spacing(centres: tuple[float, ...]) -> float:
    """Mean distance between neighbouring centres; 1 for a lone one."""
    return (max(centres) - min(centres)) / (len(centres) - 1) if len(centres) > 1 else 1.0


def _box(features: str, space: gymnasium.Space[Any]) -> gymnasium.spaces.Box:
    if isinstance(space, gymnasium.spaces.Box):
        return space
    raise InputError("features", features, f"needs a Box observation, and this one is {space}; use 'onehot'")


def _is_bounded(box: gymnasium.spaces.Box) -> np.ndarray:
    return np.isfinite(box.low) & np.isfinite(box.high) & (box.low < box.high)


FEATURES: dict[str, Callable[[gymnasium.Space[Any]], AbstractFeatures]] = {
    "raw": _raw,
    "scaled": _scaled,
    "onehot": _onehot,
    "rbf": lambda space: _rbf(_box("rbf", space), None, None, None),
    "tamar2014": _tamar2014,
}
"""Features `make_policy` knows by name, each built from an observation space."""
