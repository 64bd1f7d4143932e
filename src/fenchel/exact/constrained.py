"""The best mean under a bound on the variance: max J subject to Var(R) ≤ ζ."""

from dataclasses import dataclass

import numpy as np

from fenchel.errors import InputError, require_count, require_nonnegative
from fenchel.exact.deterministic import best_deterministic
from fenchel.exact.hull import Frontier, centre_above
from fenchel.exact.hull import frontier as walk
from fenchel.exact.policy import FinitePolicy, Mixture
from fenchel.exact.simulator import ProblemLike

NODES = 256
"""Restricted problems that the search for a deterministic policy looks at."""

SLACK = 1e-9
"""Relative excess over ζ that is taken for rounding."""


@dataclass(frozen=True)
class Constrained:
    """The best mean of any policy whose variance is at most ζ.

    Arguments:
        variance_at_most: ζ.
        mixture: the best policy: one of two deterministic ones, drawn before the first step.
        upper: mean that no policy within the bound exceeds.
        deterministic: the best deterministic policy found that goes by step, state and reward so far.
        deterministic_upper: mean that no such policy within the bound exceeds.
    """

    variance_at_most: float
    mixture: Mixture
    upper: float
    deterministic: FinitePolicy
    deterministic_upper: float

    @property
    def value(self) -> float:
        """The mean of the mixture."""
        return self.mixture.law.mean

    @property
    def gap(self) -> float:
        """How far from the best mean that of the mixture can be at most."""
        return self.upper - self.value

    @property
    def deterministic_gap(self) -> float:
        """The same for deterministic policies."""
        return self.deterministic_upper - self.deterministic.law.mean


def constrained(
    problem: ProblemLike | Frontier, variance_at_most: float, *, nodes: int = NODES
) -> Constrained:
    """The best mean under a bound on the variance, by a randomised and by a deterministic policy.

    The variance is concave along an edge of the frontier. So the best point within the bound is on the first
    edge, coming from the best mean, whose other end keeps it; there the two ends are mixed. The best
    deterministic policy is found by branch and bound over the states in which these two differ.

    Arguments:
        problem: the problem, or its frontier if that is known already.
        variance_at_most: ζ.
        nodes: restricted problems that the search for a deterministic policy may look at.
    """
    require_nonnegative("variance_at_most", variance_at_most)
    require_count("nodes", nodes, least=0)
    frontier = problem if isinstance(problem, Frontier) else walk(problem)
    least = float(np.min(frontier.variance))
    bound = variance_at_most + SLACK * max(least, variance_at_most)
    if bound < least:
        remedy = f"is below {least:.9g}, the smallest variance that any policy attains"
        raise InputError("variance_at_most", variance_at_most, remedy)
    within = frontier.variance <= bound
    left = int(np.max(np.flatnonzero(within)))
    first = frontier.policy(left)
    second = first if left == len(frontier) - 1 else frontier.policy(left + 1)
    mixture = Mixture((first, second), _weight(first, second, variance_at_most))
    upper = max(mixture.law.mean, _highest(frontier, variance_at_most))
    found, highest = best_deterministic(frontier.problem, bound, first, nodes)
    return Constrained(float(variance_at_most), mixture, upper, found, min(upper, highest))


def _weight(first: FinitePolicy, second: FinitePolicy, bound: float) -> float:
    """Share of the first, of the lesser variance, with which the mixture has the variance allowed.

    That of a mixture is w Var₁ + (1 − w) Var₂ + w (1 − w) (J₁ − J₂)², concave in w.
    """
    apart = (first.law.mean - second.law.mean) ** 2
    rise = first.law.variance - second.law.variance + apart
    excess = second.law.variance - bound
    if excess <= 0:
        return 0.0
    if apart == 0:
        return 1.0
    return float(np.clip((rise + np.sqrt(rise**2 + 4 * apart * excess)) / (2 * apart), 0, 1))


def _highest(frontier: Frontier, bound: float) -> float:
    """Mean that no policy within the bound exceeds, from the support lines, which no policy is above.

    Where such a line 2yJ − M = V passes the parabola M = ζ + J², policies must be on its left.
    """
    edges, means, above = frontier.edges, frontier.points[:, 0], centre_above(frontier.problem)
    lines = np.interp(edges, frontier.slopes, frontier.supports)  # V is convex, chords are above it
    for left in range(len(frontier) - 2, -1, -1):
        slope, support = edges[left], lines[left]

        def excess(mean: float, slope: float = slope, support: float = support) -> float:
            return 2 * slope * mean - support - mean**2 - bound

        if excess(means[left + 1]) <= 0:
            return frontier.highest if left == len(frontier) - 2 else above + float(means[left + 1])
        if excess(means[left]) <= 0:
            return above + float(slope - np.sqrt(max(slope**2 - support - bound, 0)))
    return above + float(means[0]) if len(frontier) > 1 else frontier.highest
