"""What `fenchel exact` answers: the numbers, the rows and the figure of each kind of question."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fenchel.cli.describe import name_in
from fenchel.cli.output import table
from fenchel.envs import AbstractEnvironment, Portfolio
from fenchel.errors import InputError
from fenchel.exact import (
    ClassOptimum,
    Constrained,
    FinitePolicy,
    FiniteProblem,
    Optimum,
    best,
    constrained,
    frontier,
    portfolio_optimum,
)
from fenchel.exact.volatility import best_volatility
from fenchel.objectives import (
    OBJECTIVES,
    AbstractObjective,
    MeanVariance,
    RewardVolatility,
    SharpeRatio,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table


class Answer(NamedTuple):
    """One answer."""

    record: dict[str, Any]
    """For JSON. For people a list of rows is a table, and a single value a row of the first table."""
    draw: Callable[[str], "Figure"]
    """The figure under a title."""

    def tables(self, title: str) -> list["Table"]:
        """The record for people."""
        rows = [(name.replace("_", " "), value) for name, value in _flat(self.record) if value is not None]
        lists = [value for value in self.record.values() if isinstance(value, list)]
        return [table(title, rows), *(_columns(value) for value in lists if value)]


def best_of_all(problem: FiniteProblem, objective: AbstractObjective) -> Answer:
    """The optimum of an objective, and how sure it is."""
    vertices, found = None, None
    if isinstance(objective, MeanVariance):
        hull = frontier(problem)
        vertices, found = len(hull), hull.best(float(objective.risk_aversion))
    found = found or best(problem, objective)
    record = {**_about(found), "vertices": vertices, "states": problem.size}
    return Answer(record, _policy_figure(found.policy))


def all_extreme(problem: FiniteProblem, objective: MeanVariance) -> Answer:
    """The whole frontier, and the optimum for one risk aversion on it."""
    from fenchel.report import plot_frontier

    hull = frontier(problem)
    limits = {row["mean"]: (row["from"], row["to"]) for row in hull.efficient()}
    nowhere = (None, None)
    points = [
        {**row, **dict(zip(("best_from", "best_to"), limits.get(row["mean"], nowhere), strict=True))}
        for row in hull.table()
    ]
    found = hull.best(float(objective.risk_aversion))
    record = {**_about(found), "vertices": len(hull), "states": problem.size, "points": points}
    return Answer(record, lambda title: plot_frontier(hull, title=title))


def best_of_steps(env: AbstractEnvironment, problem: FiniteProblem, objective: RewardVolatility) -> Answer:
    """The best mean-variance of the rewards of single steps."""
    value, upper = best_volatility(env, problem, objective)
    record = {
        **{"objective": "reward-volatility", "risk_aversion": float(objective.risk_aversion), "level": None},
        **{"value": value, "upper": upper, "lower": value, "gap": upper - value, "states": problem.size},
    }

    def draw(title: str) -> "Figure":
        raise InputError("figure", title, "shows a policy by its returns: leave it out for rewards of steps")

    return Answer(record, draw)


def best_within(problem: FiniteProblem, variance_at_most: float) -> Answer:
    """The best mean under a bound on the variance."""
    from fenchel.report import plot_frontier

    hull = frontier(problem)
    found = constrained(hull, variance_at_most)
    law = found.mixture.law
    record = {
        "objective": "mean",
        "variance_at_most": variance_at_most,
        **{"value": found.value, "mean": law.mean, "std": law.std, "variance": law.variance},
        **{"upper": found.upper, "lower": found.value, "gap": found.gap},
        "mixture": _mixture(found),
        "deterministic": _deterministic(found),
        **{"vertices": len(hull), "states": problem.size},
    }
    return Answer(record, lambda title: plot_frontier(hull, bounded=found, title=title))


def best_schedule(env: Portfolio, risk_aversion: float) -> Answer:
    """The best policy of step and rate that is never short of cash, and a bound on all policies."""
    from fenchel.report import plot_schedule

    found = portfolio_optimum(env, risk_aversion)
    record = {
        **{"objective": "mean-variance", "risk_aversion": risk_aversion, "level": None},
        **{"value": found.value, "mean": found.mean, "std": found.std},
        **{"upper": found.upper, "lower": found.lower, "gap": found.gap, "dual": found.dual},
        **{"vertices": None, "states": None, "restarts": found.restarts},
        "schedule": "best found of the policies of step and rate that are never short of cash",
    }
    return Answer(record, lambda title: plot_schedule(found.policy, title=title))


def in_class(found: ClassOptimum, name: str) -> dict[str, Any]:
    """The best of a class of policies, beside the optimum."""
    law = found.played.law
    return {
        "policy": name,
        "value": found.value,
        "mean": law.mean,
        "std": law.std,
        "gap": found.gap,
        "restarts": len(found.values),
        "median_restart": float(np.median(found.values)),
    }


def _about(found: Optimum) -> dict[str, Any]:
    aversion, level = (getattr(found.objective, name, None) for name in ("risk_aversion", "level"))
    ratio = isinstance(found.objective, SharpeRatio)
    return {
        "objective": "sharpe" if ratio else name_in(OBJECTIVES, type(found.objective)),
        "risk_aversion": None if aversion is None else float(aversion),
        "level": None if level is None else float(level),
        **({"benchmark": float(getattr(found.objective, "benchmark", 0.0))} if ratio else {}),
        **{"value": found.value, "mean": found.mean, "std": found.std},
        **{"upper": found.upper, "lower": found.lower, "gap": found.gap},
        "dual": found.dual if found.objective.has_dual else None,
    }


def _mixture(found: Constrained) -> list[dict[str, float]]:
    chances = found.mixture.weight, 1 - found.mixture.weight
    laws = (policy.law for policy in found.mixture.policies)
    return [{"chance": p, "mean": x.mean, "std": x.std} for p, x in zip(chances, laws, strict=True)]


def _deterministic(found: Constrained) -> dict[str, float]:
    law = found.deterministic.law
    about = {"mean": law.mean, "std": law.std, "variance": law.variance}
    return {**about, "upper": found.deterministic_upper, "gap": found.deterministic_gap}


def _policy_figure(policy: FinitePolicy) -> Callable[[str], "Figure"]:
    from fenchel.report import plot_policy

    return lambda title: plot_policy(policy, title=title)


def _flat(record: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in record.items():
        if isinstance(value, dict):
            yield from ((f"{name} {inner}", found) for inner, found in value.items())
        elif not isinstance(value, list):
            yield name, value


def _columns(rows: list[dict[str, Any]]) -> "Table":
    names = [name.replace("_", " ") for name in rows[0]]
    return table("", (row.values() for row in rows), names)
