"""The runs of the paper's study: a grid search per algorithm and domain, then fresh seeds of its choice."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fenchel.policies import AbstractPolicy
from fenchel.studies.oracle import Oracle, Worth
from fenchel.studies.paper.plan import FINAL_SEED, RISK_AVERSIONS, TUNING_SEED, Plan
from fenchel.studies.scale import Scale
from fenchel.studies.stages import fraction_of
from fenchel.training import Callback, SweepResult, sweep

BINS = 60
"""Bins of a return distribution."""

OUTSIDE = 0.002
"""Share of the returns that its histogram leaves out, half of it on either side."""

Array = np.ndarray[Any, Any]
Watch = Callable[[float], None]


def tune(
    domain: str, algorithm: str, plan: Plan, oracle: Oracle, scale: Scale, place: Path, watch: Watch
) -> dict[str, Any]:
    """The grid search: what every cell is worth; and the best of them, run again at full length.

    A cell is judged by J_λ at the λ of the report, whatever λ the algorithm itself was given. With few seeds
    the best cell of many is partly luck, so the best ones have to show it on fresh seeds.
    """
    axes = _axes(domain, algorithm, plan)
    seeds = range(TUNING_SEED, TUNING_SEED + plan.seeds(algorithm))
    how: dict[str, Any] = {"episodes": plan.tuning_episodes, **axes, "seed": seeds}
    result = _sweep(domain, algorithm, place / "grid", _part(watch, 0, plan), **how)
    worth = oracle.worth(_policies(result), plan.evaluation_episodes, TUNING_SEED)
    value = _value(domain, worth).reshape(*(len(axis) for axis in axes.values()), len(seeds))
    shares = scale.share(value)
    finalists = [
        {name: axis[int(i)] for (name, axis), i in zip(axes.items(), cell, strict=True)}
        for cell in best_cells(shares.mean(axis=-1), plan.finalists)
    ]
    finals = []
    for number, cell in enumerate(finalists):
        spot, about = place / f"final-{number}", {"episodes": plan.trial_episodes, **cell}
        seeds = range(FINAL_SEED, FINAL_SEED + plan.final_seeds)
        again = _sweep(domain, algorithm, spot, _part(watch, number + 1, plan), **about, seed=seeds)
        worth = oracle.worth(_policies(again), plan.evaluation_episodes, FINAL_SEED)
        finals.append(float(np.mean(scale.share(_value(domain, worth)))))
    return {
        "axes": [[name, list(axis)] for name, axis in axes.items()],
        "share": shares.tolist(),
        "finalists": [{**cell, "share": share} for cell, share in zip(finalists, finals, strict=True)],
        "chosen": finalists[int(np.argmax(finals))],
        "diverged": sum(row.status == "diverged" for row in result.rows),
        "episodes": result.episodes,
    }


def best_cells(cells: Array, count: int) -> list[tuple[int, ...]]:
    """The places of the greatest numbers of a grid, the greatest first.

    >>> best_cells(np.array([[1.0, 5.0], [7.0, 2.0]]), 2)
    [(1, 0), (0, 1)]
    """
    order = np.argsort(-cells, axis=None, kind="stable")[:count]
    return [tuple(int(i) for i in np.unravel_index(place, cells.shape)) for place in order]


def _part(watch: Watch, number: int, plan: Plan) -> Callback:
    """Of a grid search and its finals, the grid is one half and the finals share the other."""
    before, part = (
        (0.0, 0.5) if number == 0 else (0.5 + 0.5 * (number - 1) / plan.finalists, 0.5 / plan.finalists)
    )
    return fraction_of(lambda share: watch(before + part * share))


def try_out(
    domain: str,
    algorithm: str,
    chosen: dict[str, float],
    plan: Plan,
    oracle: Oracle,
    scale: Scale,
    place: Path,
    watch: Watch,
) -> dict[str, Any]:
    """Fresh seeds of a setting: what each policy is worth, and how their returns are distributed."""
    seeds = range(plan.trials)
    how: dict[str, Any] = {"episodes": plan.trial_episodes, **chosen}
    result = _sweep(domain, algorithm, place, fraction_of(watch), **how, seed=seeds)
    worth = oracle.worth(_policies(result), plan.evaluation_episodes)
    value = _value(domain, worth)
    return {
        **{"mean": worth.mean.tolist(), "std": worth.std.tolist()},
        **{"value": value.tolist(), "share": scale.share(value).tolist()},
        "diverged": sum(row.status == "diverged" for row in result.rows),
        "episodes": result.episodes,
        "histogram": histogram(worth.values, worth.chances),
    }


def updates(algorithm: str, plan: Plan) -> tuple[int, int]:
    """Updates that grid search, finals included, and trials make."""
    cells = int(np.prod([len(axis) for axis in plan.axes(algorithm).values()]))
    grid = cells * plan.seeds(algorithm) * plan.tuning_episodes
    finals = plan.finalists * plan.final_seeds * plan.trial_episodes
    return grid + finals, plan.trials * plan.trial_episodes


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
