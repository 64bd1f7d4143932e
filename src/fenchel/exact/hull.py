"""The mean-variance frontier: all extreme points of what policies can attain, and a proof that these are all.

The pairs (J, M) of mean and second moment that policies attain, randomised and history-dependent ones
included, are a convex set. J − λ(M − J²) is convex in (J, M) and falls in M, so its maximum is at an extreme
point of the lower boundary. Each of these maximises 2yJ − M for a range of slopes y, which is an ordinary
dynamic programme; docs/exact.md has the proof. It holds for R − c as well, whatever the constant c:
with c = `problem.centre`, second moments keep their digits where all returns have a large part in common.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Float

from fenchel.errors import require_positive
from fenchel.exact.backward import best_moment_actions, best_moments, best_values, rounding
from fenchel.exact.law import ReturnLaw
from fenchel.exact.optimum import Optimum
from fenchel.exact.policy import FinitePolicy
from fenchel.exact.problem import Array, FiniteProblem
from fenchel.exact.simulator import ProblemLike, as_problem
from fenchel.objectives.mean_variance import MeanVariance


@dataclass(frozen=True)
class Frontier:
    """The lower boundary of the attainable (J, M), from the least second moment about R_min to the best mean.

    Arguments:
        problem: the finite problem.
        points: J and M of the extreme points, by rising J; like slopes and supports, of R − c.
        slopes: R_min and the slopes of the edges, between which max 2yJ − M is linear in y.
        supports: that maximum, rounded up: no policy is above any of these lines.
        highest: the best mean, rounded up.
    """

    problem: FiniteProblem
    points: Float[Array, "v 2"]
    slopes: Float[Array, " s"]
    supports: Float[Array, " s"]
    highest: float

    def __len__(self) -> int:
        return len(self.points)

    @property
    def mean(self) -> Float[Array, " v"]:
        """J = E[R] of the extreme points, in rising order."""
        return np.asarray(self.points[:, 0] + self.problem.centre)

    @property
    def second(self) -> Float[Array, " v"]:
        """M = E[R²] of the extreme points."""
        return np.asarray(self.variance + self.mean**2)

    @property
    def variance(self) -> Float[Array, " v"]:
        """Variance of the return at the extreme points."""
        return np.asarray(np.maximum(self.points[:, 1] - self.points[:, 0] ** 2, 0))

    @property
    def std(self) -> Float[Array, " v"]:
        """Standard deviation of the return at the extreme points."""
        return np.sqrt(self.variance)

    def best(self, risk_aversion: float) -> Optimum:
        """The greatest J − λ Var of any policy, a policy that attains it, and the proof.

        Arguments:
            risk_aversion: λ.

        >>> from fenchel.exact import frontier
        >>> round(frontier("option").best(risk_aversion=1.0).value, 6)
        0.241988
        """
        require_positive("risk_aversion", risk_aversion)
        index = int(np.argmax(self.points[:, 0] - risk_aversion * self.variance))
        slope = float(self.points[index, 0]) + 1 / (2 * risk_aversion)
        policy = FinitePolicy.of_actions(self.problem, best_moment_actions(self.problem, slope))
        objective = MeanVariance(float(risk_aversion))
        value = policy.law.mean_variance(risk_aversion)
        margin = rounding(self.problem) * self._size(policy.law, slope, risk_aversion)
        upper = float(self.upper(np.array([risk_aversion]))[0])
        dual = float(self.mean[index])
        return Optimum(objective, policy, dual, value, value - margin, max(value, upper))

    def upper(self, risk_aversions: Float[Array, " m"]) -> Float[Array, " m"]:
        """What no policy's J − λ Var exceeds, for each λ.

        It is max_y λ [V(y) − (y − 1/(2λ))²] with V(y) = max 2yJ − M. V is convex: a chord between two slopes
        where it is known lies above it, and beyond the last of them it rises no faster than 2 max J.
        """
        high = np.append(self.slopes[1:], np.inf)
        rise = np.append(
            np.diff(self.supports) / np.diff(self.slopes), 2 * (self.highest - self.problem.centre)
        )
        shift = 1 / (2 * risk_aversions[:, None])
        at = np.clip(shift + rise / 2, self.slopes, high)
        found = self.supports + rise * (at - self.slopes) - (at - shift) ** 2
        return np.asarray(risk_aversions * np.max(found, axis=1)) + centre_above(self.problem)

    def efficient(self) -> list[dict[str, float]]:
        """The extreme points that are best for some λ, by rising mean, each with the range of these λ.

        J − λ Var is linear in λ for each of them: they are the corners of the upper envelope of (Var, J).
        """
        spread, kept = self.variance, list[int]()

        def price(i: int, j: int) -> float:
            return float((self.points[j, 0] - self.points[i, 0]) / (spread[j] - spread[i]))

        for index in np.lexsort((-self.mean, spread)).tolist():
            if kept and self.points[index, 0] <= self.points[kept[-1], 0]:
                continue
            while len(kept) > 1 and price(kept[-1], index) >= price(kept[-2], kept[-1]):
                kept.pop()
            kept.append(index)
        limits = [np.inf, *(price(i, j) for i, j in pairwise(kept)), 0.0]
        rows = self.table()
        return [{"from": limits[k + 1], "to": limits[k], **rows[i]} for k, i in enumerate(kept)]

    def policy(self, index: int) -> FinitePolicy:
        """A deterministic policy at an extreme point."""
        slope = self._slope_of(index)
        return FinitePolicy.of_actions(self.problem, best_moment_actions(self.problem, slope))

    def table(self) -> list[dict[str, Any]]:
        """A row per extreme point."""
        columns = {"mean": self.mean, "std": self.std, "variance": self.variance}
        return [{name: float(column[i]) for name, column in columns.items()} for i in range(len(self))]

    @property
    def edges(self) -> Float[Array, " v-1"]:
        """The slope y of the edge from each extreme point to the next, of R − c."""
        return _normals(self.points)

    def _size(self, law: ReturnLaw, slope: float, risk_aversion: float) -> float:
        """E[|R|] + λ E[2|y||R − c| + (R − c)²], which rounding errors of J − λ Var are relative to."""
        gaps = np.abs(law.values - self.problem.centre)
        sizes = np.abs(law.values) + risk_aversion * (2 * abs(slope) * gaps + gaps**2)
        return float(law.probabilities @ sizes)

    def _slope_of(self, index: int) -> float:
        """A slope inside the range for which the point is best."""
        if index % len(self) == len(self) - 1:
            return np.inf
        lowest = np.append(self.slopes[0], self.edges)
        return float((lowest[index] + lowest[index + 1]) / 2)


def frontier(problem: ProblemLike) -> Frontier:
    """All extreme points: between any two neighbours known, look in the direction normal to their edge.

    An edge is closed when nothing beyond it is found, up to `TIES` times what rounding can add up to: points
    nearer than that to an edge are taken as lying on it, and none of them can be better than `upper`.
    """
    problem = as_problem(problem)
    returns, kappa = problem.returns - problem.centre, 2 * rounding(problem)
    ends = np.array([returns[0], np.inf])
    points = np.stack(best_moments(problem, ends), axis=1)
    edges = points[None][_apart(points[None])]
    while len(edges):
        left, right = edges[:, 0], edges[:, 1]
        normal = (right[:, 1] - left[:, 1]) / (2 * (right[:, 0] - left[:, 0]))
        found = np.stack(best_moments(problem, normal), axis=1)
        gain = 2 * normal * (found - left)[:, 0] - (found - left)[:, 1]
        halves = np.stack([left, found], axis=1), np.stack([found, right], axis=1)
        beyond = gain > TIES * kappa * (2 * np.abs(normal) * np.sqrt(found[:, 1]) + found[:, 1])
        beyond &= _apart(halves[0]) & _apart(halves[1])
        points = np.concatenate([points, found[beyond]])
        edges = np.concatenate([half[beyond] for half in halves])
    points = points[np.lexsort((points[:, 1], points[:, 0]))]
    points = points[np.append(True, np.diff(points[:, 0]) > 0)]
    slopes = np.unique(np.append(returns[0], _normals(points)))
    highest = best_values(problem, lambda _: (returns + kappa * np.abs(returns))[:, None], np.zeros(1))
    supports = _supports(problem, slopes)
    return Frontier(problem, points, slopes, supports, centre_above(problem) + float(highest[0]))


def centre_above(problem: FiniteProblem) -> float:
    """c, and what can be missing from c · 1, where 1 is a sum of rounded probabilities."""
    return problem.centre + 2 * rounding(problem) * abs(problem.centre)


def _normals(points: Float[Array, "v 2"]) -> Float[Array, " v-1"]:
    """The slope y for which both ends of each edge have the same 2yJ − M."""
    rise = np.diff(points, axis=0)
    return np.asarray(rise[:, 1] / (2 * rise[:, 0]))


def _supports(problem: FiniteProblem, slopes: Float[Array, " s"]) -> Float[Array, " s"]:
    """What no policy's 2yJ − M exceeds, each outcome being granted what rounding could hide."""
    returns, kappa = (problem.returns - problem.centre)[:, None], 2 * rounding(problem)

    def utility(block: Array) -> Array:
        granted = 2 * np.abs(block) * np.abs(returns) + returns**2
        return np.asarray(2 * block * returns - returns**2 + kappa * granted)

    return best_values(problem, utility, slopes)


TIES = 2.0
"""An edge is closed where nothing lies further beyond it than so many times what rounding can add up to."""


def _apart(edges: Float[Array, "n 2 2"]) -> Array:
    """Whether the ends of an edge differ in mean by more than rounding, so that it has a slope."""
    scale = np.sqrt(np.max(edges[:, :, 1], axis=1))
    return np.asarray(edges[:, 1, 0] - edges[:, 0, 0] > 1e-14 * scale)
