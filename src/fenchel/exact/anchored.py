"""Objectives E[u(R, J)] whose utility is held against the mean of the policy itself."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from fenchel.exact.backward import best_actions, best_values, rounding
from fenchel.exact.optimum import Optimum
from fenchel.exact.policy import FinitePolicy, together
from fenchel.exact.problem import Array, FiniteProblem
from fenchel.objectives.base import AbstractObjective

PIECES = 32
"""Intervals of the mean at the beginning."""

PRICES = 24
"""Prices of the mean that are tried at once, in each of `ZOOMS` rounds."""

ZOOMS = 3

TOLERANCE = 1e-5
"""Gap at which the search ends, relative to the spread of the returns."""

MOST_INTERVALS = 256
"""Intervals at which it ends as well: their number grows like the root of the precision."""

Utility = Callable[[Float[Array, " E"], Float[Array, " m"]], Float[Array, "E m"]]


def best_anchored(
    problem: FiniteProblem, objective: AbstractObjective, utility: Utility, steepest: float
) -> Optimum:
    """The best E[u(R, J)] over all policies, where u(R, a) does not rise with the anchor a.

    For a mean in [a, b] the value is at most max E[u(R, a)] over the policies with such a mean. That is a
    linear programme, and by duality the least over prices η of max_π E[u(R, a) − ηR] + ηb, or ηa for η < 0:
    ordinary dynamic programmes, each a bound for any η. Intervals that cannot hold the best mean are
    dropped, the others halved. The policies at the best price, mixed to the mean wanted, attain what is
    found.

    Arguments:
        problem: the finite problem.
        objective: the same, as what reports call it.
        utility: u(R, a) of every return and anchor.
        steepest: greatest price worth trying: what a unit of the return is worth at most.
    """
    edges = np.linspace(problem.returns[0], problem.returns[-1], PIECES + 1)
    intervals, spread = np.stack([edges[:-1], edges[1:]], axis=1), float(np.ptp(problem.returns))
    value, policy, closed = -np.inf, None, -np.inf
    while True:
        uppers, prices = _bounds(problem, utility, intervals, steepest)
        first = int(np.argmax(uppers))
        for candidate in _attained(problem, utility, intervals[first], prices[first]):
            reached = candidate.law.value(objective)
            if reached > value:
                value, policy = reached, candidate
        final = uppers <= value + TOLERANCE * spread
        final |= len(intervals) > MOST_INTERVALS
        closed = max(closed, float(np.max(uppers[final], initial=-np.inf)))
        if np.all(final):
            break
        left = intervals[~final]
        middle = left.mean(axis=1)
        intervals = np.concatenate(
            [np.stack(half, axis=1) for half in ([left[:, 0], middle], [middle, left[:, 1]])]
        )
    assert policy is not None
    mean = policy.law.mean
    size = policy.law.expect(lambda returns: np.abs(utility(returns, np.array([mean]))[:, 0]))
    lower = value - rounding(problem) * size
    return Optimum(objective, policy, mean, value, lower, max(value, closed))


def _bounds(
    problem: FiniteProblem, utility: Utility, intervals: Float[Array, "m 2"], steepest: float
) -> tuple[Float[Array, " m"], Float[Array, "m 2"]]:
    """The least bound found for each interval, and the prices on both sides of it."""
    count = len(intervals)
    half = np.logspace(-2, np.log10(steepest), PRICES // 2)
    grid = np.concatenate([-half[::-1], half])
    prices = np.tile(grid, (count, 1))
    for _ in range(ZOOMS):
        values = _priced(problem, utility, np.repeat(intervals[:, 0], PRICES), prices.ravel())
        paid = np.where(prices >= 0, prices * intervals[:, 1:], prices * intervals[:, :1])
        bounds = values.reshape(count, PRICES) + paid
        best = np.argmin(bounds, axis=1)
        around = np.stack([np.maximum(best - 1, 0), np.minimum(best + 1, PRICES - 1)], axis=1)
        ends = np.take_along_axis(prices, around, axis=1)
        prices = np.linspace(ends[:, 0], ends[:, 1], PRICES, axis=1)
    return bounds.min(axis=1), ends


def _priced(
    problem: FiniteProblem, utility: Utility, anchors: Float[Array, " n"], prices: Float[Array, " n"]
) -> Float[Array, " n"]:
    """Max E[u(R, a) − ηR] of each pair of anchor and price, with what rounding may have taken."""
    kappa = 2 * rounding(problem)

    def table(block: Array) -> Array:
        worth, paid = utility(problem.returns, anchors[block]), np.outer(problem.returns, prices[block])
        return np.asarray(worth - paid + kappa * (np.abs(worth) + np.abs(paid)))

    return best_values(problem, table, np.arange(len(anchors)))


def _attained(
    problem: FiniteProblem, utility: Utility, interval: Float[Array, " 2"], prices: Float[Array, " 2"]
) -> list[FinitePolicy]:
    """The policies on both sides of the best price, and their mixtures with the means of the interval."""
    pair = [
        FinitePolicy.of_actions(
            problem,
            best_actions(problem, utility(problem.returns, interval[:1])[:, 0] - price * problem.returns),
        )
        for price in prices
    ]
    high, low = pair[0].law.mean, pair[1].law.mean
    wanted = [mean for mean in (*interval, interval.mean()) if low < mean < high]
    first, second = pair
    return [*pair, *(together(first, second, (mean - low) / (high - low)) for mean in wanted)]
