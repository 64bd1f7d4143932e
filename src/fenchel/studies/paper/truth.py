"""What is known of a domain of the paper before anything is learned."""

from typing import Any

import numpy as np

from fenchel.objectives import Expectation, MeanVariance
from fenchel.studies.oracle import FiniteOracle, Oracle, PortfolioOracle
from fenchel.studies.paper.plan import RISK_AVERSIONS, Plan
from fenchel.studies.paper.published import TABLE
from fenchel.studies.scale import Scale


def truth(domain: str, oracle: Oracle, plan: Plan) -> dict[str, Any]:
    """The scale of the domain, its frontier or a bound on it, and what the paper's table could be.

    `supports` are pairs (λ, U) such that J − λ Var ≤ U for every policy.
    """
    if isinstance(oracle, PortfolioOracle):
        found = _portfolio(oracle, plan)
    else:
        assert isinstance(oracle, FiniteOracle)
        found = _finite(domain, oracle)
    least = {name: least_std(found["supports"], entry.mean) for name, entry in TABLE[domain].items()}
    return {**found, "risk_aversion": RISK_AVERSIONS[domain], "least_std": least}


def scale_of(found: dict[str, Any]) -> Scale:
    """The scale that `truth` wrote down."""
    return Scale(**found["scale"])


def least_std(supports: list[tuple[float, float]], mean: float) -> float:
    """No policy with at least this mean has a lower standard deviation: Var ≥ (J − U)/λ for every support."""
    return float(np.sqrt(max(0.0, *((mean - upper) / weight for weight, upper in supports))))


def _finite(domain: str, oracle: FiniteOracle) -> dict[str, Any]:
    objective, hull = MeanVariance(RISK_AVERSIONS[domain]), oracle.frontier
    scale, best = oracle.scale(objective), oracle.optimum(Expectation())
    std, mean = oracle.curve()
    return {
        "scale": vars(scale),
        "vertices": len(hull),
        "frontier": {"mean": mean.tolist(), "std": std.tolist()},
        "supports": _supports(hull),
        "highest_mean": {"mean": best.mean, "std": best.std, "upper": best.upper},
    }


def _supports(hull: Any) -> list[tuple[float, float]]:
    """J − λ Var ≤ U at the λ of each corner of the upper envelope of (Var, J)."""
    corners = np.array([row["to"] for row in hull.efficient()])
    weights = corners[np.isfinite(corners) & (corners > 0)]
    weights = weights if len(weights) else np.array([1.0])
    return [(float(w), float(u)) for w, u in zip(weights, hull.upper(weights), strict=True)]


def _portfolio(oracle: PortfolioOracle, plan: Plan) -> dict[str, Any]:
    reference = RISK_AVERSIONS["portfolio"]
    search = {"restarts": plan.restarts, "iterations": plan.bound_rounds}
    points = {weight: oracle.best_schedule(reference * weight, **search) for weight in plan.bound_points}
    oracle.uniform_episodes = plan.uniform_episodes
    uniform = oracle.uniform_value(MeanVariance(reference))
    at = points[1.0]
    return {
        "scale": vars(Scale(uniform, at.value, at.upper)),
        "vertices": None,
        "frontier": {
            "mean": [found.mean for found in points.values()],
            "std": [found.std for found in points.values()],
        },
        "supports": [(reference * weight, found.upper) for weight, found in points.items()],
        "highest_mean": None,
    }
