"""Certified optima of objectives that are no expectation of a ψ; docs/exact.md has the proofs."""

from collections.abc import Callable
from typing import Any

import numpy as np

from fenchel.errors import InputError, require
from fenchel.exact.anchored import best_anchored
from fenchel.exact.constrained import constrained
from fenchel.exact.gini import best_gini
from fenchel.exact.hull import frontier
from fenchel.exact.optimum import Optimum
from fenchel.exact.policy import Mixture, together
from fenchel.exact.problem import Array, FiniteProblem
from fenchel.objectives import GiniDeviation, MeanSemivariance, SharpeRatio, VarianceBound
from fenchel.objectives.statistic import AbstractStatistic

BARELY = 1e-13
"""Variance, relative to the square of the returns, that rounding may have made."""


def best_statistic(problem: FiniteProblem, objective: AbstractStatistic) -> Optimum:
    """The best value of a statistic over all policies, a policy that attains `value`, and a bound."""
    for kind, solve in SOLVERS.items():
        if isinstance(objective, kind):
            return solve(problem, objective)
    known = ", ".join(kind.__name__ for kind in SOLVERS)
    remedy = f"has no exact optimum; those of {known} and of every ψ(R, y) are known"
    raise InputError("objective", type(objective).__name__, remedy)


def _sharpe(problem: FiniteProblem, objective: Any) -> Optimum:
    """A corner of the lower boundary of (J, M), as J²/M is convex; no policy is beyond the support lines."""
    hull, benchmark = frontier(problem), float(objective.benchmark)
    remedy = f"is not below {hull.highest:.9g}, the best mean: the ratio means nothing here, so lower it"
    require(benchmark < hull.highest, "benchmark", benchmark, remedy)
    corners = _ratios(hull.mean - benchmark, hull.variance, problem)
    policies = [hull.policy(int(i)) for i in np.argsort(corners)[-3:]]
    found = max(policies, key=lambda policy: policy.law.value(objective))
    value = found.law.value(objective)
    remedy = "is below a return that can be had for sure, so that the ratio is infinite: raise it"
    sure = found.law.variance <= _least(problem)
    require(bool(np.isfinite(value)) and not sure, "benchmark", benchmark, remedy)
    slopes, supports = hull.slopes[np.isfinite(hull.slopes)], hull.supports[np.isfinite(hull.slopes)]
    means = np.append(np.diff(supports) / (2 * np.diff(slopes)), hull.highest - problem.centre)
    seconds = 2 * slopes * means - supports  # where neighbouring lines meet
    ratios = _ratios(means + problem.centre - benchmark, seconds - means**2, problem)
    upper = max(value, float(np.max(ratios)))
    return Optimum(objective, found, 0.0, value, value, upper)


def _ratios(above: Array, variance: Array, problem: FiniteProblem) -> Array:
    return np.asarray(above / np.sqrt(np.maximum(variance, _least(problem))))


def _least(problem: FiniteProblem) -> float:
    return BARELY * max(1e-150, float(np.max(np.abs(problem.returns)))) ** 2


def _semivariance(problem: FiniteProblem, objective: Any) -> Optimum:
    """J − λ E[(J − R)₊²]: a utility of the return that falls with the mean it is held against."""
    aversion = float(objective.risk_aversion)

    def utility(returns: Array, anchors: Array) -> Array:
        return np.asarray(returns[:, None] - aversion * np.maximum(anchors - returns[:, None], 0) ** 2)

    steepest = 1 + 2 * aversion * float(np.ptp(problem.returns))
    return best_anchored(problem, objective, utility, steepest)


def _bound(problem: FiniteProblem, objective: Any) -> Optimum:
    """The greatest mean within the bound, by a mixture of two neighbours on the frontier."""
    found = constrained(problem, float(objective.bound), nodes=0)
    mixture: Mixture = found.mixture
    policy = together(*mixture.policies, mixture.weight)
    return Optimum(objective, policy, mixture.law.mean, found.value, found.value, found.upper)


SOLVERS: dict[type[AbstractStatistic], Callable[[FiniteProblem, Any], Optimum]] = {
    SharpeRatio: _sharpe,
    MeanSemivariance: _semivariance,
    GiniDeviation: best_gini,
    VarianceBound: _bound,
}
