"""The best deterministic policy under a bound on the variance, by branch and bound.

No dynamic programme finds it: the variance couples all states. But with some actions ruled out the best
randomised policy is still quick to find, and it is a mixture of two deterministic ones that differ in few
states. Its mean is a bound; either action in such a state gives a problem of its own. Policies that remember
how they came to a state and reward so far are left out: they can use what they remember as a coin.
"""

import heapq
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from fenchel.exact.backward import Allowed, best_moment_actions, best_moments
from fenchel.exact.policy import FinitePolicy
from fenchel.exact.problem import Array, FiniteProblem

CLOSE = 1e-10
"""Relative difference in mean from which on two policies count as equally good."""


class Point(NamedTuple):
    """An extreme point, and a slope for which it is best; all of R − c with c = `problem.centre`."""

    mean: float
    second: float
    slope: float

    @property
    def support(self) -> float:
        """2yJ − M, which no policy exceeds."""
        return 2 * self.slope * self.mean - self.second

    def within(self, bound: float) -> bool:
        """Whether the variance is at most `bound`."""
        return self.second - self.mean**2 <= bound


class Crossing(NamedTuple):
    """The edge on which the variance passes the bound, and J − c there; a single point is both ends."""

    left: Point
    right: Point
    mean: float


def best_deterministic(
    problem: FiniteProblem, bound: float, known: FinitePolicy, nodes: int
) -> tuple[FinitePolicy, float]:
    """A deterministic policy of variance at most `bound`, and a mean that none of them exceeds.

    Arguments:
        problem: the problem.
        bound: ζ.
        known: a deterministic policy within the bound, to start from.
        nodes: how many restricted problems to look at; the two results meet if these were enough.
    """
    best, queue = known, list[tuple[float, int, Crossing, Allowed]]()
    pending, count = [tuple(layer.allowed for layer in problem.layers)], 0
    while True:
        for allowed in pending:
            crossing = cross(problem, bound, allowed, best.law.mean - problem.centre)
            if crossing is not None:
                policy = _policy(problem, crossing.left, allowed)
                best = policy if policy.law.mean > best.law.mean else best
                heapq.heappush(queue, (-crossing.mean, count, crossing, allowed))
                count += 1
        upper = problem.centre - queue[0][0] if queue else -np.inf
        if count > nodes or upper <= best.law.mean + CLOSE * abs(best.law.mean):
            return best, max(upper, best.law.mean)
        pending = [tuple(allowed) for allowed in _split(problem, *heapq.heappop(queue)[2:])]


def cross(problem: FiniteProblem, bound: float, allowed: Allowed, beat: float) -> Crossing | None:
    """Where the frontier passes the bound for the last time on its way up; None if not above `beat`."""
    ends = _points(problem, np.array([problem.returns[0] - problem.centre, np.inf]), allowed)
    if ends[1].within(bound):
        return Crossing(ends[1], ends[1], ends[1].mean) if ends[1].mean > beat else None
    edges = [ends]
    while edges:
        left, right = edges.pop()
        if right.mean <= beat or right.mean <= left.mean or _beyond(left, right, bound):
            continue
        normal = (right.second - left.second) / (2 * (right.mean - left.mean))
        (found,) = _points(problem, np.array([normal]), allowed)
        chord = 2 * normal * left.mean - left.second
        if left.mean < found.mean < right.mean and found.support > chord + 1e-13 * (abs(chord) + left.second):
            right_half = (found, right)
            if not found.within(bound):
                edges.append((left, found))
            else:
                edges = []
            edges.append(right_half)
        elif left.within(bound):
            mean = float(normal - np.sqrt(max(normal**2 - chord - bound, 0)))
            return Crossing(left, right, mean) if mean > beat else None
    return None


def _beyond(left: Point, right: Point, bound: float) -> bool:
    """Whether the frontier between two points exceeds the bound: it is above its tangents there.

    Less the parabola J² + ζ a line is concave, so where its ends exceed it all of it does.
    """
    if left.within(bound) or not np.isfinite(right.slope) or right.slope <= left.slope:
        return False
    corner = (right.support - left.support) / (2 * (right.slope - left.slope))
    return 2 * left.slope * corner - left.support > corner**2 + bound


def _points(problem: FiniteProblem, slopes: Array, allowed: Allowed) -> tuple[Point, ...]:
    mean, second = best_moments(problem, slopes, allowed)
    return tuple(Point(*map(float, point)) for point in zip(mean, second, slopes, strict=True))


def _policy(problem: FiniteProblem, point: Point, allowed: Allowed) -> FinitePolicy:
    return FinitePolicy.of_actions(problem, best_moment_actions(problem, point.slope, allowed))


def _split(problem: FiniteProblem, crossing: Crossing, allowed: Allowed) -> Iterator[Allowed]:
    """The problem with the left end's action in a state where the ends differ, and the one without it."""
    left, right = (_policy(problem, end, allowed) for end in (crossing.left, crossing.right))
    weights = [
        np.where(a != b, np.maximum(v.sum(axis=1), w.sum(axis=1)), 0)
        for a, b, v, w in zip(left.actions, right.actions, left.visits, right.visits, strict=True)
    ]
    step = int(np.argmax([weight.max(initial=0) for weight in weights]))
    state = int(np.argmax(weights[step]))
    if weights[step][state] == 0:
        return
    only = np.zeros(problem.actions, bool)
    only[left.actions[step][state]] = True
    for row in (only, allowed[step][state] & ~only):
        changed = allowed[step].copy()
        changed[state] = row
        yield (*allowed[:step], changed, *allowed[step + 1 :])
