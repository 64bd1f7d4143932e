"""Backward induction for many utilities of the return at once."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.sparse import csr_array

from fenchel.exact.problem import Array, FiniteProblem

WIDTH = 64
"""Utilities in one pass: their values in two layers of some hundred states stay in the cache."""

Beats = Callable[[Float[Array, "n f w"], Float[Array, "n f w"]], Bool[Array, "n w"]]
"""Whether the expectations of the features of the return under one action are better than under another."""

EQUAL = 1e-12
"""Difference up to which two means are equal, relative to the root of the second moment."""

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
        return np.asarray(_sweep(problem, ends, _by_value, len(block))[0])

    return _in_blocks(solve, items)


def best_moments(
    problem: FiniteProblem, slopes: Float[Array, " m"], allowed: Allowed | None = None
) -> tuple[Float[Array, " m"], Float[Array, " m"]]:
    """J and M of a policy that maximises 2yJ − M, for each slope y; at y = ∞ the least M among max J.

    Both are moments of R − c with c = `problem.centre`, and slopes are relative to c too.
    """

    def solve(block: Array) -> Array:
        beats = _by_mean if np.all(np.isinf(block)) else _by_slope(block)
        return _sweep(problem, ends, beats, len(block), allowed)

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
    return _record(problem, ends, _by_value, allowed)


def best_moment_actions(
    problem: FiniteProblem, slope: float, allowed: Allowed | None = None
) -> tuple[Int[Array, " n"], ...]:
    """An action per state that maximises 2yJ − M, moments of R − c, layer by layer."""
    ends = [end[:, :, None] for end in problem.moments_at_end]
    beats = _by_mean if np.isinf(slope) else _by_slope(np.array([slope]))
    return _record(problem, ends, beats, allowed)


def rounding(problem: FiniteProblem) -> float:
    """κ such that rounding changes the expectation of a utility u(R) by at most κ E|u(R)|.

    Every layer multiplies and adds once per branch, and each operation rounds by at most `eps` relative.
    """
    tables = [table for layer in problem.layers for table in (layer.moves, layer.ends)]
    branches = max(int(np.max(np.diff(table.indptr), initial=0)) for table in tables)
    return float(np.finfo(float).eps) * (problem.horizon + 1) * (branches + 4)


def _by_value(one: Array, other: Array) -> Array:
    return np.asarray(one[:, 0] > other[:, 0])


def _by_slope(slopes: Array) -> Beats:
    """2yJ − M."""

    def beats(one: Array, other: Array) -> Array:
        return np.asarray(2 * slopes * (one[:, 0] - other[:, 0]) > one[:, 1] - other[:, 1])

    return beats


def _by_mean(one: Array, other: Array) -> Array:
    """The mean; between means that are equal but for rounding, the second moment."""
    gain = one[:, 0] - other[:, 0]
    same = np.abs(gain) <= EQUAL * np.sqrt(np.maximum(one[:, 1], other[:, 1]))
    return np.where(same, one[:, 1] < other[:, 1], gain > 0)


def _sweep(
    problem: FiniteProblem,
    ends: Sequence[Array],
    beats: Beats,
    width: int,
    allowed: Allowed | None = None,
    record: list[Array] | None = None,
) -> Array:
    """Expectations of the features at the start, under the policy that is greedy; among equals the first."""
    features = ends[0].shape[1]
    ahead = np.zeros((0, features * width))
    for step, layer in problem.backwards():
        options = layer.allowed if allowed is None else allowed[step]
        final = ends[step].reshape(layer.size, -1, features, ends[step].shape[-1])
        reached = [_expected(table, ahead, final[:, a]) for a, table in enumerate(problem.onward[step])]
        chosen = np.empty((layer.size, features, width))
        chosen[...] = reached[0]
        taken, known = np.zeros((layer.size, width), np.int64), options[:, :1]
        for action in range(1, len(reached)):
            better = beats(reached[action], chosen)
            if not np.all(options):
                better = (better | ~known) & options[:, action, None]
                known = known | options[:, action, None]
            np.copyto(chosen, reached[action], where=better[:, None])
            if record is not None:
                taken[better] = action
        if record is not None:
            record.append(taken)
        ahead = chosen.reshape(layer.size, features * width)
    return (problem.start @ ahead).reshape(features, width)


def _expected(table: csr_array | None, ahead: Array, final: Array) -> Array:
    """Under one action: what is earned further on, if it leads on anywhere, and what by episodes that end."""
    if table is None:
        return final
    found = np.asarray(table @ ahead).reshape(len(final), final.shape[1], -1)
    found += final
    return found


def _record(
    problem: FiniteProblem, ends: Sequence[Array], beats: Beats, allowed: Allowed | None
) -> tuple[Array, ...]:
    record: list[Array] = []
    _sweep(problem, ends, beats, 1, allowed, record)
    return tuple(actions[:, 0] for actions in reversed(record))


def _in_blocks(solve: Callable[[Array], Array], columns: Array) -> Array:
    """Blocks of columns on a thread each: NumPy and SciPy let go of the interpreter while they compute."""
    count = columns.shape[-1]
    blocks = [columns[..., first : first + WIDTH] for first in range(0, count, WIDTH)]
    if len(blocks) == 1:
        return solve(blocks[0])
    with ThreadPoolExecutor(max(1, os.cpu_count() or 1)) as pool:
        return np.concatenate(list(pool.map(solve, blocks)), axis=-1)
