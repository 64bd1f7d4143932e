"""Empirical risk measures of a sample of returns, with bootstrap intervals."""

from typing import Any

import numpy as np
from jaxtyping import Float

from fenchel.errors import InputError, require, require_count, require_number, require_positive
from fenchel.intervals import LEVEL, Interval, around

Array = np.ndarray[Any, Any]

RESAMPLES = 200
"""Each weighs every episode anew: enough for the ends of a 95 % interval."""


def risk_measures(
    returns: Any,
    drawdowns: Any = None,
    *,
    level: float = 0.05,
    risk_aversion: float = 1.0,
    benchmark: float = 0.0,
    resamples: int = RESAMPLES,
) -> dict[str, Interval]:
    """Mean, std, semideviation, Gini deviation, VaR, CVaR, entropic risk, Sharpe ratio, drawdown.

    Every measure has the sign of its formula: `var` is the level-quantile of the return and `cvar` the mean
    of the returns up to there; both are better the higher they are, as are `entropic` (−log E[e^{−βR}]/β)
    and `sharpe`. `semideviation` is the root of E[(J − R)₊²].

    Arguments:
        returns: of independent episodes.
        drawdowns: greatest fall of the reward so far in each, or None.
        level: of VaR and CVaR.
        risk_aversion: β of the entropic risk.
        benchmark: what the Sharpe ratio takes off the mean.
        resamples: of the Poisson bootstrap, the same for the same sample.

    >>> risk_measures([1.0, 3.0], level=0.5)["cvar"].estimate
    1.0
    """
    sample = np.sort(_numbers("returns", returns))
    require(len(sample) > 1, "returns", len(sample), "are too few: give at least 2")
    require(0 < require_number("level", level) <= 1, "level", level, "must be above 0 and at most 1")
    require_positive("risk_aversion", risk_aversion)
    require_count("resamples", resamples)
    numbers = level, risk_aversion, require_number("benchmark", benchmark)
    generator = np.random.default_rng(0)
    weights = _weights(len(sample), generator, resamples)
    replicates = [_measures(sample, one, *numbers) for one in weights]
    found = {
        name: around(estimate, [one[name] for one in replicates], LEVEL)
        for name, estimate in _measures(sample, np.ones(len(sample)), *numbers).items()
    }
    if drawdowns is not None:
        falls = _numbers("drawdowns", drawdowns)
        require(len(falls) == len(sample), "drawdowns", len(falls), f"must be one for each of {len(sample)}")
        found["max_drawdown"] = _mean(falls, generator, resamples)
    return found


def _numbers(field: str, values: Any) -> Float[Array, " m"]:
    try:
        numbers = np.asarray(values, float).ravel()
    except (TypeError, ValueError):
        raise InputError(field, type(values).__name__, "must be numbers") from None
    require(bool(np.all(np.isfinite(numbers))), field, "not finite", "must be finite")
    return numbers


def _weights(count: int, generator: np.random.Generator, resamples: int) -> list[Float[Array, " m"]]:
    """How often each episode is drawn, about once on average; a draw of none at all is left out."""
    drawn = (generator.poisson(1.0, count).astype(float) for _ in range(resamples))
    return [weights for weights in drawn if np.any(weights)]


def _measures(
    ranked: Float[Array, " m"],
    weights: Float[Array, " m"],
    level: float,
    risk_aversion: float,
    benchmark: float,
) -> dict[str, float]:
    total = weights.sum()
    chances = weights / total
    mean = float(chances @ ranked)
    variance = float(chances @ (ranked - mean) ** 2)
    below = np.cumsum(weights)
    before, enough = below - weights, level * total
    rank = min(int(np.searchsorted(below, enough * (1 - 1e-12))), len(ranked) - 1)
    worst = np.clip(enough - before, 0, weights)
    lowest = ranked[int(np.argmax(weights > 0))]
    shifted = float(chances @ np.exp(-risk_aversion * np.maximum(ranked - lowest, 0)))
    share = below[:-1] / total
    std = float(np.sqrt(variance))
    return {
        "mean": mean,
        "std": std,
        "semideviation": float(np.sqrt(chances @ np.maximum(mean - ranked, 0) ** 2)),
        "gini": float((share * (1 - share)) @ np.diff(ranked)),
        "var": float(ranked[rank]),
        "cvar": float(worst @ ranked / enough),
        "entropic": float(lowest - np.log(shifted) / risk_aversion),
        "sharpe": _ratio(mean - benchmark, std),
    }


def _mean(values: Float[Array, " m"], generator: np.random.Generator, resamples: int) -> Interval:
    weights = _weights(len(values), generator, resamples)
    return around(float(values.mean()), [float(one @ values / one.sum()) for one in weights], LEVEL)


def _ratio(above: float, std: float) -> float:
    """As `SharpeRatio` has it of a sure return: infinite, or 0 where nothing is above the benchmark."""
    if std > 0:
        return above / std
    return float(np.sign(above)) * np.inf if above != 0 else 0.0
