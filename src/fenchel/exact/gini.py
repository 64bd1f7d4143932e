"""The least Gini deviation for its mean: policy and distribution function by turns, and a bound."""

import numpy as np
from jaxtyping import Float

from fenchel.exact.backward import best_actions, best_values, rounding
from fenchel.exact.hull import frontier
from fenchel.exact.optimum import Optimum
from fenchel.exact.policy import FinitePolicy
from fenchel.exact.problem import Array, FiniteProblem
from fenchel.objectives import GiniDeviation

STARTS = 24
"""Policies of the frontier that the search begins with."""

PRICES = np.concatenate([[0.0], np.logspace(-2, 5, 22)])
"""Prices of a unit of value, over the spread of the returns, at which ranges are narrowed."""

MOST_ROUNDS = 64
"""Times that ranges are narrowed."""

PROGRESS = 0.02
"""Share of the gap that a round must close for another one to be worth it."""


def best_gini(problem: FiniteProblem, objective: GiniDeviation) -> Optimum:
    """The best J − λ ∫ F (1 − F) that was found, and what no policy exceeds.

    F (1 − F) = min over c of F (1 − 2c) + c², so that the deviation is a minimum over functions c of an
    expectation, best at c = F: policy and c by turns, each turn a step up, from many starts. For the bound,
    F (1 − F) is above its chord on a range of F that no better policy leaves. With the chords in its place
    the problem is an ordinary one, and says in turn which F policies can have that are worth as much as the
    one found; so ranges and bound narrow one another.
    """
    found = _Search(problem, float(objective.risk_aversion))
    hull = frontier(problem)
    chosen = np.unique(np.linspace(0, len(hull) - 1, STARTS).astype(int))
    policy = max((found.turns(hull.policy(int(i))) for i in chosen), key=found.worth)
    value = found.worth(policy)
    low, high = found.ranges(None, value)
    upper = np.inf
    for _ in range(MOST_ROUNDS):
        bound, cut = found.bound(low, high)
        closed, before = bound - value, upper - value
        upper = min(upper, bound)
        if closed > (1 - PROGRESS) * before or closed <= 1e-9 * float(np.ptp(problem.returns)):
            break
        narrowed = found.ranges(cut, value)
        low, high = np.maximum(low, narrowed[0]), np.minimum(high, narrowed[1])
    lower = value - rounding(problem) * policy.law.expect(np.abs) * (1 + found.aversion)
    return Optimum(objective, policy, 0.0, value, lower, max(value, upper))


class _Search:
    """A problem and λ."""

    def __init__(self, problem: FiniteProblem, aversion: float):
        self.problem, self.aversion = problem, aversion
        self.gaps = np.diff(problem.returns)

    def worth(self, policy: FinitePolicy) -> float:
        """J − λ ∫ F (1 − F)."""
        share = np.cumsum(policy.law.probabilities)[:-1]
        return policy.law.mean - self.aversion * float(self.gaps @ (share * (1 - share)))

    def utility(self, slope: Float[Array, " E"]) -> Float[Array, " E"]:
        """R − λ ∫ over r ≥ R of 1 − slope: what F (1 − slope) makes of each return."""
        above = np.cumsum((self.gaps * (1 - slope[:-1]))[::-1])[::-1]
        return np.asarray(self.problem.returns - self.aversion * np.append(above, 0.0))

    def turns(self, policy: FinitePolicy) -> FinitePolicy:
        """Up from a policy until nothing is gained."""
        while True:
            slope = 2 * np.cumsum(policy.law.probabilities)
            moved = FinitePolicy.of_actions(self.problem, best_actions(self.problem, self.utility(slope)))
            if not self.worth(moved) > self.worth(policy) + 1e-15 * abs(self.worth(policy)):
                return policy
            policy = moved

    def bound(self, low: Float[Array, " E"], high: Float[Array, " E"]) -> tuple[float, Float[Array, " E"]]:
        """What no policy with F in these ranges exceeds, and the utility of the chords that says so."""
        rest = -self.aversion * float(self.gaps @ (low * high)[:-1])
        cut = self.utility(low + high) + rest
        table = (cut + 2 * rounding(self.problem) * np.abs(cut))[:, None]
        return float(best_values(self.problem, lambda _: table, np.zeros(1))[0]), cut

    def ranges(
        self, cut: Float[Array, " E"] | None, least: float
    ) -> tuple[Float[Array, " E"], Float[Array, " E"]]:
        """Least and greatest F of the policies with E[cut] ≥ least; of all policies where there is no cut.

        By duality the greatest is at most E[1{R ≤ r} + η (cut − least)], for any policy and price η ≥ 0.
        """
        count, ranks = len(self.problem.returns), np.arange(len(self.problem.returns))
        spread = max(float(np.ptp(self.problem.returns)), 1e-300)
        prices = PRICES[:1] if cut is None else PRICES / spread
        excess = np.zeros(count) if cut is None else cut - least
        kappa = 2 * rounding(self.problem)

        def most(sign: float) -> Array:
            def utility(block: Array) -> Array:
                below = (ranks[:, None] <= block[None, :] // len(prices)).astype(float)
                paid = excess[:, None] * prices[block % len(prices)]
                return np.asarray(sign * below + paid + kappa * (below + np.abs(paid)))

            values = best_values(self.problem, utility, np.arange(count * len(prices)))
            return np.asarray(values.reshape(count, -1).min(axis=1))

        return np.clip(-most(-1.0), 0, 1), np.clip(most(1.0), 0, 1)
