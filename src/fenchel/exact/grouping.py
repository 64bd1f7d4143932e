"""Rounding errors aside, which rows of numbers are the same?"""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

TOLERANCE = 1e-11
"""Relative distance up to which two numbers are taken for one. Paths that lead to the same node of a tree
multiply the same factors in another order, and differ by some roundings of 1e-16 each."""


def labels(numbers: Array) -> Array:
    """The rank of each number among the distinct ones.

    Sorted numbers are joined where neighbours are close, so that no boundary between two groups can fall
    into the middle of one. What is close is relative to their size, near zero to 1, or to the largest
    of them if that is less.

    >>> labels(np.array([0.3, 0.1 + 0.2, 5.0]))
    array([0, 0, 1])
    """
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    size = np.maximum(np.abs(ordered[1:]), np.abs(ordered[:-1]))
    apart = np.diff(ordered) > TOLERANCE * np.maximum(size, np.minimum(1, np.max(size, initial=0)))
    found = np.empty(len(numbers), np.int64)
    found[order] = np.concatenate([[0], np.cumsum(apart)]) if len(numbers) else []
    return found


def groups(columns: list[Array]) -> tuple[Array, Array]:
    """One row of each group of equal rows, and the group of every row.

    >>> groups([np.array([1, 0, 1]), np.array([0.5, 0.5, 0.5])])
    (array([1, 0]), array([1, 0, 1]))
    """
    ranks = np.stack([labels(np.asarray(column, np.float64)) for column in columns], axis=1)
    code = np.zeros(len(ranks), np.int64)
    for column in ranks.T:  # compressed after each column, so that no product of counts overflows
        code = np.unique(code * (column.max(initial=0) + 1) + column, return_inverse=True)[1]
    _, first, inverse = np.unique(code, return_index=True, return_inverse=True)
    return first, inverse
