"""Numbers as users say them, as arrays of the right shape."""

from typing import Any

import numpy as np
from scipy.sparse import issparse

from fenchel.errors import InputError, require
from fenchel.exact.problem import Array

SUM_SLACK = 1e-9
"""How far from one probabilities may add up to."""


def shaped(field: str, where: str, value: Any, kind: type, shape: tuple[int, ...]) -> Array:
    """`value` as an array of that shape, of truth values or of finite numbers."""
    array = numbers(f"{field}{where}", value, kind=None if kind is bool else float)
    require(
        array.shape == shape, f"{field}{where}", f"shape {array.shape}", f"must have the shape {list(shape)}"
    )
    if kind is bool:
        require(array.dtype == bool, f"{field}{where}", str(array.dtype), "must be of True and False")
        return array
    require(bool(np.all(np.isfinite(array))), f"{field}{where}", "not finite", "must be finite")
    return array


def numbers(field: str, value: Any, kind: type | None = float) -> Array:
    """`value` as an array, if it is a table of numbers."""
    try:
        return np.asarray(value, kind)
    except (TypeError, ValueError):
        remedy = "must be an array of numbers, all rows of one length"
        raise InputError(field, type(value).__name__, remedy) from None


def read_start(start: Any, size: int) -> Array:
    """The probability of each first state."""
    if np.ndim(start) == 0:
        whole = isinstance(start, int | np.integer) and not isinstance(start, bool)
        require(whole and 0 <= start < size, "start", start, f"must be the number of a state, below {size}")
        return np.asarray(np.eye(size)[int(start)])
    chances = numbers("start", start)
    fits = chances.shape == (size,) and np.all(np.isfinite(chances)) and np.all(chances >= 0)
    require(bool(fits), "start", start, f"must be {size} probabilities, or the number of a state")
    total = float(np.sum(chances))
    require(abs(total - 1) <= SUM_SLACK, "start: sum", total, "must sum to 1")
    return chances / total


def is_per_step(value: Any) -> bool:
    """A list of arrays is an entry per step; a list of numbers, or an array, is for all steps."""
    return isinstance(value, list | tuple) and all(isinstance(x, np.ndarray) or issparse(x) for x in value)


def each_step(field: str, value: Any, count: int | None) -> list[Any]:
    """What is said of each step, or the one thing that is said of all."""
    if not is_per_step(value):
        return [value] * (count or 1)
    remedy = (
        "may be a list of arrays only where transition is one"
        if count is None
        else f"must have {count} entries"
    )
    require(len(value) == count, field, f"a list of {len(value)} arrays", remedy)
    return list(value)
