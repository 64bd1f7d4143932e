"""Bootstrap intervals, the same for the same numbers."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

LEVEL = 0.95
"""Coverage of every interval that a study reports."""

RESAMPLES = 2000


class Interval(NamedTuple):
    """An estimate, and what it could as well have been."""

    estimate: float
    low: float
    high: float


def bootstrap_mean(samples: Any, *, level: float = LEVEL, resamples: int = RESAMPLES) -> Interval:
    """The mean of independent samples, with its percentile bootstrap interval.

    >>> bootstrap_mean([1.0, 1.0, 1.0])
    Interval(estimate=1.0, low=1.0, high=1.0)
    """
    data = np.asarray(samples, float)
    means = data[_draws(len(data), resamples)].mean(axis=1)
    return around(float(data.mean()), means, level)


def bootstrap_cells(
    cells: Float[np.ndarray[Any, Any], "... s"], resamples: int = RESAMPLES
) -> Float[np.ndarray[Any, Any], "resamples ..."]:
    """Means over the last axis of cells whose samples are drawn again, in each cell by itself."""
    *shape, count = cells.shape
    flat = cells.reshape(-1, count)
    generator = np.random.default_rng(0)
    found = np.empty((resamples, len(flat)))
    for row, samples in enumerate(flat):
        found[:, row] = samples[generator.integers(count, size=(resamples, count))].mean(axis=1)
    return found.reshape(resamples, *shape)


def around(estimate: float, replicates: Any, level: float = LEVEL) -> Interval:
    """The percentile interval of replicates of an estimate."""
    ends = [(1 - level) / 2, (1 + level) / 2]
    sure = bool(np.all(np.isfinite(replicates)))
    low, high = np.quantile(replicates, ends, method="linear" if sure else "nearest")
    return Interval(estimate, float(low), float(high))


def _draws(count: int, resamples: int) -> Any:
    return np.random.default_rng(0).integers(count, size=(resamples, count))
