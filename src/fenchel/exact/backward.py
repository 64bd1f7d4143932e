"""Backward induction for many utilities of the return at once."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from jaxtyping import Bool, Float, Int

from fenchel.exact.problem import Array, FiniteProblem

WIDTH = 64
"""Utilities in one pass: their values in two layers of some hundred states stay in the cache."""

Scores = Callable[[Float[Array, "n A f w"]], Float[Array, "n A w"]]
"""What an action is judged by, from the expectations of the features of the return under it."""

Allowed = Sequence[Bool[Array, "n A"]]


def best_values(
    problem: FiniteProblem,
    utility: Callable[[Float[Array, " w"]], Float[Array, "E w"]],
    items: Float[Array, " m"],
) -> Float[Array, " m"]:
    """The best E[u(R)] of any policy, for the u of each item; `utility` tabulates u of `problem.returns`."""

    def solve(block: Array) -> Array:
        columns = utility(block)
        ends = [np.asarray(layer.ends @ columns)[:, None] for layer in problem.layers]
        return np.asarray(_sweep(problem, ends, lambda expected: expected[:, :, 0], len(block))[0])

    return _in_blocks(solve, items)


def best_moments(
    problem: FiniteProblem, slopes: Float[Array, " m"], allowed: Allowed | None = None
) -> tuple[Float[Array, " m"], Float[Array, " m"]]:
    """J and M of a policy that maximises 2yJ − M, for each slope y; at y = ∞ the least M among max J."""

    def solve(block: Array) -> Array:
        judge = _by_mean if np.all(np.isinf(block)) else _by_slope(block)
        return _sweep(problem, ends, judge, len(block), allowed)

    ends = [end[:, :, None] for end in problem.moments_at_end]
    finite = np.isfinite(slopes)
    found = np.empty((2, len(slopes)))
    for part in (finite, ~finite):
        if np.any(part):
            found[:, part] = _in_blocks(solve, slopes[part])
    return found[0], found[1]


def best_actions(
    problem: FiniteProblem, utility: Float[Array, " E"], allowed: Allowed | None = None
) -> tuple[Int[Array, " n"], ...]:
    """An action per state that maximises E[u(R)], layer by layer; among equals the first."""
    ends = [np.asarray(layer.ends @ utility)[:, None, None] for layer in problem.layers]
    return _record(problem, ends, lambda expected: expected[:, :, 0], allowed)


def best_moment_actions(
    problem: FiniteProblem, slope: float, allowed: Allowed | None = None
) -> tuple[Int[Array, " n"], ...]:
    """An action per state that maximises 2yJ − M, layer by layer."""
    ends = [end[:, :, None] for end in problem.moments_at_end]
    judge = _by_mean if np.isinf(slope) else _by_slope(np.array([slope]))
    return _record(problem, ends, judge, allowed)


def rounding(problem: FiniteProblem) -> float:
    """κ such that rounding changes the expectation of a utility u(R) by at most κ E|u(R)|.

    Every layer multiplies and adds once per branch, and each operation rounds by at most `eps` relative.
    """
    tables = [table for layer in problem.layers for table in (layer.moves, layer.ends)]
    branches = max(int(np.max(np.diff(table.indptr), initial=0)) for table in tables)
    return float(np.finfo(float).eps) * (problem.horizon + 1) * (branches + 4)


def _by_slope(slopes: Array) -> Scores:
    return lambda expected: 2 * slopes * expected[:, :, 0] - expected[:, :, 1]


def _by_mean(expected: Array) -> Array:
    """The mean, and the least second moment among means that are equal but for rounding."""
    mean, square = expected[:, :, 0], expected[:, :, 1]
    most = np.max(mean, axis=1, keepdims=True)
    top = mean >= most - 1e-12 * np.abs(most)
    least: Array = np.where(top, -square, -np.inf)
    return least


def _sweep(
    problem: FiniteProblem,
    ends: Sequence[Array],
    score: Scores,
    width: int,
    allowed: Allowed | None = None,
    record: list[Array] | None = None,
) -> Array:
    """Expectations of the features at the start, under the policy that is greedy for the scores."""
    features = ends[0].shape[1]
    ahead = np.zeros((0, features * width))
    for step, layer in problem.backwards():
        expected = np.asarray(layer.moves @ ahead).reshape(-1, features, width) + ends[step]
        expected = expected.reshape(layer.size, -1, features, width)
        options = layer.allowed if allowed is None else allowed[step]
        scores = score(expected)
        if not np.all(options):
            scores = np.where(options[:, :, None], scores, -np.inf)
        if record is not None:
            record.append(np.argmax(scores, axis=1))
        ahead = _greedy(expected, scores).reshape(layer.size, features * width)
    return (problem.start @ ahead).reshape(features, width)


def _greedy(expected: Array, scores: Array) -> Array:
    """Expectations under the action with the highest score; among equals the first."""
    chosen, top = expected[:, 0], scores[:, 0]
    for action in range(1, scores.shape[1]):
        better = scores[:, action] > top
        chosen = np.where(better[:, None], expected[:, action], chosen)
        top = np.maximum(scores[:, action], top)
    return chosen


def _record(
    problem: FiniteProblem, ends: Sequence[Array], score: Scores, allowed: Allowed | None
) -> tuple[Array, ...]:
    record: list[Array] = []
    _sweep(problem, ends, score, 1, allowed, record)
    return tuple(actions[:, 0] for actions in reversed(record))


def _in_blocks(solve: Callable[[Array], Array], columns: Array) -> Array:
    """Blocks of columns on a thread each: NumPy and SciPy let go of the interpreter while they compute."""
    count = columns.shape[-1]
    blocks = [columns[..., first : first + WIDTH] for first in range(0, count, WIDTH)]
    if len(blocks) == 1:
        return solve(blocks[0])
    with ThreadPoolExecutor(max(1, os.cpu_count() or 1)) as pool:
        return np.concatenate(list(pool.map(solve, blocks)), axis=-1)
