"""The certified optimum of any objective max_y E[ψ(R, y)], by a search over y with a proved bracket."""

import numpy as np
from jaxtyping import Float

from fenchel.errors import require
from fenchel.exact.backward import best_actions, best_values, rounding
from fenchel.exact.hull import frontier
from fenchel.exact.optimum import Optimum
from fenchel.exact.policy import FinitePolicy
from fenchel.exact.problem import Array, FiniteProblem
from fenchel.exact.simulator import ProblemLike, as_problem
from fenchel.exact.statistics import best_statistic
from fenchel.exact.surrogates import (
    bracket,
    own_duals,
    require_surrogate,
    slopes,
    surrogates,
    surrogates_at,
)
from fenchel.objectives.base import AbstractObjective
from fenchel.objectives.mean_variance import MeanVariance
from fenchel.objectives.statistic import AbstractStatistic

TOLERANCE = 1e-9
"""Gap at which the search ends, relative to the value, or to the spread of the returns if that is larger."""

SMALL = 1e-3
"""Share of the spread of the returns below which a value counts as zero: gaps are relative to the spread."""

NARROW = 1e-14
"""Relative width of an interval that rounding does not let be divided further."""

PIECES = 32
"""Intervals of y at the beginning."""

MOST_INTERVALS = 20_000
"""Intervals after which the search gives up closing the gap; it is reported as it is then."""

FLOOR = -1e200
"""Stands for utilities of minus infinity; more than them, so that bounds stay bounds."""


def best(problem: ProblemLike, objective: AbstractObjective, tolerance: float = TOLERANCE) -> Optimum:
    """The best value of an objective over all policies, a policy that attains it, and the proof.

    The best y lies between the least and the greatest y that is best for a sure return (`bracket`). On an
    interval [a, b] of y, half the tangent of ψ(R, ·) at a and half that at b is a line above ψ(R, ·), for
    every R. The best policy for a utility linear in y is worth most at one end of the interval, so that two
    dynamic programmes bound the interval; those that cannot hold the best y are dropped, the rest halved.
    """
    problem, natural = as_problem(problem), objective.natural()
    if isinstance(natural, MeanVariance):
        return frontier(problem).best(float(natural.risk_aversion))
    if isinstance(natural, AbstractStatistic):
        return best_statistic(problem, natural)
    require_surrogate(natural)
    if not natural.has_dual:
        return _at(problem, natural, 0.0, upper=_bounds(problem, natural, np.zeros((1, 2)))[0])
    edges = np.linspace(*bracket(natural, problem.returns), PIECES + 1)
    _require_concave(natural, problem.returns, edges)
    found = _improved(problem, natural, edges)
    intervals, closed, count = np.stack([edges[:-1], edges[1:]], axis=1), found.value, 0
    while len(intervals):
        count += len(intervals)
        uppers = _bounds(problem, natural, intervals)
        goal = found.value + tolerance * max(abs(found.value), SMALL * float(np.ptp(problem.returns)))
        narrow = np.diff(intervals, axis=1)[:, 0] <= NARROW * np.max(np.abs(intervals), axis=1)
        final = (uppers <= goal) | narrow | (count > MOST_INTERVALS)
        closed = max(closed, float(np.max(uppers[final], initial=-np.inf)))
        intervals = intervals[~final]
        if len(intervals):
            middle = _splits(natural, problem.returns, intervals)
            found = max(found, _improved(problem, natural, middle), key=lambda one: one.value)
            halves = [intervals[:, 0], middle], [middle, intervals[:, 1]]
            intervals = np.concatenate([np.stack(half, axis=1) for half in halves])
    return Optimum(natural, found.policy, found.dual, found.value, found.lower, max(found.value, closed))


def _require_concave(
    objective: AbstractObjective, returns: Float[Array, " E"], duals: Float[Array, " m"]
) -> None:
    """Raise where a slope in y rises from one of these y to the next."""
    steep = slopes(objective, returns, duals)
    with np.errstate(invalid="ignore"):
        rises = np.diff(steep, axis=1) > 1e-9 * (1 + np.abs(steep[:, 1:]))
    remedy = "must be concave in the dual for every return; here its slope rises"
    require(not np.any(rises), "objective", type(objective).__name__, remedy)


def _improved(problem: FiniteProblem, objective: AbstractObjective, duals: Float[Array, " m"]) -> Optimum:
    """The best of these y, and from there policy and y by turns, each the best for the other."""

    def utility(block: Array) -> Array:
        return np.maximum(surrogates(objective, problem.returns, block), FLOOR)

    values = best_values(problem, utility, duals)
    return _at(problem, objective, float(duals[np.argmax(values)]), upper=np.inf)


def _at(problem: FiniteProblem, objective: AbstractObjective, dual: float, upper: float) -> Optimum:
    """The optimum that alternating between policy and dual leads to; each turn is a step up."""
    value, policy = -np.inf, None
    while True:
        utility = np.maximum(surrogates(objective, problem.returns, np.array([dual]))[:, 0], FLOOR)
        moved = FinitePolicy.of_actions(problem, best_actions(problem, utility))
        reached = moved.law.value(objective)
        if policy is not None and not reached > value + 1e-15 * abs(value):
            break
        policy, value, dual = moved, reached, moved.law.best_dual(objective)
    dual = policy.law.best_dual(objective)
    size = policy.law.expect(lambda returns: np.abs(surrogates(objective, returns, np.array([dual]))[:, 0]))
    return Optimum(objective, policy, dual, value, value - rounding(problem) * size, max(value, upper))


def _bounds(
    problem: FiniteProblem, objective: AbstractObjective, intervals: Float[Array, "m 2"]
) -> Float[Array, " m"]:
    """What E[ψ(R, y)] cannot exceed for any policy and any y in each interval, rounding included."""
    returns, kappa = problem.returns, 2 * rounding(problem)

    def utility(block: Array) -> Array:
        lines = _lines(objective, returns, intervals[block // 2])
        chosen = np.take_along_axis(lines, (block % 2)[None, :, None], axis=2)[:, :, 0]
        chosen = np.maximum(chosen, FLOOR)
        return np.asarray(chosen + kappa * np.abs(chosen))

    ends = best_values(problem, utility, np.arange(2 * len(intervals)))
    return np.asarray(ends.reshape(-1, 2).max(axis=1))


def _lines(
    objective: AbstractObjective, returns: Float[Array, " E"], intervals: Float[Array, "m 2"]
) -> Float[Array, "E m 2"]:
    """Values at both ends of a line above ψ(R, ·) on each interval, whichever of two is closer to it.

    One is the mean of the tangents at the ends, the other is level at the greatest value on the interval.
    """
    shape = len(returns), len(intervals), 2
    psi = surrogates(objective, returns, intervals.ravel()).reshape(shape)
    slope = slopes(objective, returns, intervals.ravel()).reshape(shape)
    width = intervals[:, 1] - intervals[:, 0]
    with np.errstate(invalid="ignore", over="ignore"):
        across = psi[:, :, ::-1] + slope[:, :, ::-1] * np.stack([-width, width], axis=1)
        tangent = (psi + across) / 2
        top = np.clip(own_duals(objective, returns)[:, None], intervals[:, 0], intervals[:, 1])
        level = np.repeat(surrogates_at(objective, returns, top)[:, :, None], 2, axis=2)
        closer = np.max(tangent - psi, axis=2) <= np.max(
            level - psi, axis=2
        )  # False where one is not a number
    return np.where(closer[:, :, None], tangent, level)


def _splits(
    objective: AbstractObjective, returns: Float[Array, " E"], intervals: Float[Array, "m 2"]
) -> Float[Array, " m"]:
    """Where to divide intervals: at the y best for a sure return nearest the middle, or there.

    ψ(R, ·) of CVaR has its kink at such a y, and between kinks the bound is exact.
    """
    low, high = intervals.T
    middle = (low + high) / 2
    kinks = np.unique(own_duals(objective, returns))
    after = np.clip(np.searchsorted(kinks, middle), 1, max(1, len(kinks) - 1))
    around = np.stack([kinks[after - 1], kinks[np.minimum(after, len(kinks) - 1)]])
    near = np.where(middle - around[0] <= around[1] - middle, around[0], around[1])
    return np.asarray(np.where((low < near) & (near < high), near, middle))
