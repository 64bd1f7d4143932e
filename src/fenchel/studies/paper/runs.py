"""The runs of the paper's study: a grid search per algorithm and domain, then fresh seeds of its choice."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fenchel.policies import AbstractPolicy
from fenchel.studies.oracle import Oracle, Worth
from fenchel.studies.paper.plan import RISK_AVERSIONS, TUNING_SEED, Plan
from fenchel.studies.scale import Scale
from fenchel.training import Callback, SweepResult, sweep

BINS = 60
"""Bins of a return distribution."""

OUTSIDE = 0.002
"""Share of the returns that its histogram leaves out, half of it on either side."""

Array = np.ndarray[Any, Any]


def tune(
    domain: str, algorithm: str, plan: Plan, oracle: Oracle, scale: Scale, place: Path, watch: Callback
) -> dict[str, Any]:
    """The grid search: what every cell is worth, and the best of them.

    A cell is judged by J_λ at the λ of the report, whatever λ the algorithm itself was given, and together
    with its neighbours: few seeds do not show that one run in fifty fails, but its neighbours may.
    """
    axes = _axes(domain, algorithm, plan)
    seeds = range(TUNING_SEED, TUNING_SEED + plan.seeds(algorithm))
    result = _sweep(domain, algorithm, place, watch, episodes=plan.tuning_episodes, **axes, seed=seeds)
    worth = oracle.worth(_policies(result), plan.evaluation_episodes, TUNING_SEED)
    value = _value(domain, worth).reshape(*(len(axis) for axis in axes.values()), len(seeds))
    shares = scale.share(value)
    judged = with_neighbours(np.maximum(shares, 0).mean(axis=-1))
    best = np.unravel_index(np.argmax(judged), judged.shape)
    return {
        "axes": [[name, list(axis)] for name, axis in axes.items()],
        "share": shares.tolist(),
        "chosen": {name: axis[int(i)] for (name, axis), i in zip(axes.items(), best, strict=True)},
        "diverged": sum(row.status == "diverged" for row in result.rows),
        "episodes": result.episodes,
    }


def try_out(
    domain: str,
    algorithm: str,
    chosen: dict[str, float],
    plan: Plan,
    oracle: Oracle,
    scale: Scale,
    place: Path,
    watch: Callback,
) -> dict[str, Any]:
    """Fresh seeds of a setting: what each policy is worth, and how their returns are distributed."""
    seeds = range(plan.trials)
    result = _sweep(domain, algorithm, place, watch, episodes=plan.trial_episodes, **chosen, seed=seeds)
    worth = oracle.worth(_policies(result), plan.evaluation_episodes)
    value = _value(domain, worth)
    return {
        **{"mean": worth.mean.tolist(), "std": worth.std.tolist()},
        **{"value": value.tolist(), "share": scale.share(value).tolist()},
        "diverged": sum(row.status == "diverged" for row in result.rows),
        "episodes": result.episodes,
        "histogram": histogram(worth.values, worth.chances),
    }


def with_neighbours(cells: Array) -> Array:
    """The mean of every cell of a grid and of those next to it along any axis or diagonal.

    >>> with_neighbours(np.array([0.0, 3.0, 6.0])).tolist()
    [1.5, 3.0, 4.5]
    """
    padded = np.pad(cells, 1, constant_values=np.nan)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3,) * cells.ndim)
    return np.asarray(np.nanmean(windows, axis=tuple(range(cells.ndim, 2 * cells.ndim))))


def updates(algorithm: str, plan: Plan) -> tuple[int, int]:
    """Updates that grid search and trials make."""
    cells = int(np.prod([len(axis) for axis in plan.axes(algorithm).values()]))
    return cells * plan.seeds(algorithm) * plan.tuning_episodes, plan.trials * plan.trial_episodes


def histogram(values: Array, chances: Array) -> dict[str, Any]:
    """Edges and masses of bins over all but the rarest returns; a single value has a single bin."""
    total = np.cumsum(chances)
    low, high = (float(values[np.searchsorted(total, q)]) for q in (OUTSIDE / 2, 1 - OUTSIDE / 2))
    if low == high:
        low, high = low - 0.5, high + 0.5
    mass, edges = np.histogram(values, BINS, (low, high), weights=chances)
    return {"edges": edges.tolist(), "mass": mass.tolist()}


def _axes(domain: str, algorithm: str, plan: Plan) -> dict[str, Sequence[float]]:
    axes: dict[str, Sequence[float]] = dict(plan.axes(algorithm))
    if "risk_aversion" in axes:
        axes["risk_aversion"] = [RISK_AVERSIONS[domain] * weight for weight in plan.weights]
    return axes


def _sweep(domain: str, algorithm: str, place: Path, watch: Callback, **settings: Any) -> SweepResult:
    """Option I of the paper, one episode per update: decaying steps, the last iterate."""
    how: dict[str, Any] = {"schedule": "robbins-monro", "records": 1, **settings}
    return sweep(domain, algorithm, out=place, resume=place.exists(), callbacks=[watch], **how)


def _policies(result: SweepResult) -> list[AbstractPolicy]:
    return [row.policy for row in result.rows]


def _value(domain: str, worth: Worth) -> Array:
    return np.asarray(worth.mean - RISK_AVERSIONS[domain] * worth.std**2)
