"""Lines through measured rates in logarithms, with intervals from resampled seeds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from fenchel.errors import require, require_count
from fenchel.intervals import LEVEL, RESAMPLES
from fenchel.theory.assumptions import Array


@dataclass(frozen=True)
class Slope:
    """The exponent p of mean ≈ exp(intercept) · N^p, with a bootstrap interval."""

    value: float
    low: float
    high: float
    intercept: float
    level: float = LEVEL


def fit_slope(
    counts: Sequence[int], values: Float[Array, "counts seeds"], *, resamples: int = RESAMPLES, seed: int = 0
) -> Slope:
    """Least squares of log mean over log N; the interval resamples whole seeds, which all N share.

    Arguments:
        counts: N, at least two of them.
        values: a row per N, a column per seed, all positive.
        resamples: how often the seeds are drawn again.
        seed: of the resampling.

    >>> import numpy as np
    >>> round(fit_slope([10, 100, 1000], np.array([[4.0], [2.0], [1.0]])).value, 4)
    -0.301
    """
    values = np.asarray(values, float)
    require(len(counts) >= 2, "counts", counts, "a line needs two points at least")
    fits = values.ndim == 2 and len(values) == len(counts) and bool(np.all(values > 0))
    require(fits, "values", values.shape, "must hold a positive number per count and seed")
    logs = np.log(np.asarray(counts, float))
    centred = (logs - logs.mean()) / np.sum((logs - logs.mean()) ** 2)
    low, high = interval(values, lambda means: centred @ np.log(means), resamples=resamples, seed=seed)
    heights = np.log(values.mean(axis=1))
    value = float(centred @ heights)
    return Slope(value, float(low), float(high), float(heights.mean() - value * logs.mean()))


def interval(
    values: Float[Array, "counts seeds"],
    statistic: Callable[[Float[Array, "counts r"]], Array],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> tuple[Array, Array]:
    """Percentile bootstrap of a statistic of the means over seeds, as ends of an interval.

    Arguments:
        values: a row per N, a column per seed.
        statistic: takes means of `resamples` columns; its last axis is theirs.
        resamples: how often the seeds are drawn again.
        seed: of the resampling.
    """
    require_count("resamples", resamples)
    generator = np.random.default_rng(seed)
    seeds = values.shape[1]
    picks = generator.integers(seeds, size=(resamples, seeds))
    weights = np.apply_along_axis(np.bincount, 1, picks, minlength=seeds).T / seeds
    outer = (1 - LEVEL) / 2
    low, high = np.quantile(statistic(values @ weights), [outer, 1 - outer], axis=-1)
    return low, high
