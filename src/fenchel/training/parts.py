"""Many learners on all cores: each part is one compiled call, and threads run the parts side by side.

A vmapped program keeps little more than one core busy, and a wide one overflows the cache; parts of some
dozens of learners on a thread each use the whole machine, without forcing extra host devices on the process.
"""

import os
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from fenchel.ascent.blocks import Iterate, leaf_name
from fenchel.envs.base import AbstractEnvironment
from fenchel.errors import require
from fenchel.training.keys import streams
from fenchel.training.learner import Learner, Method, advance, fault_names
from fenchel.training.problem import Problem
from fenchel.training.threads import on_threads

WIDTH = 64
"""Most learners in a part: beyond, their noise and state leave the cache."""

PARTS = 4
"""Parts of a small sweep, to keep a few cores busy. The width of a part decides how sums are rounded, so it
follows from the number of learners alone: a run resumed where there are more cores goes on to the bit."""

Arrays = dict[str, np.ndarray[Any, Any]]


class Parts:
    """The learners of problems that differ in numbers only, and so share one program."""

    first_chunk = 64
    """Iterations of the first chunk, whose pace is not known."""
    also: tuple[str, ...] = ()
    """What is recorded besides the returns and the dual."""

    def __init__(self, problems: Sequence[Problem]):
        self.problems = problems
        self.count = len(problems)
        self.threads = max(1, os.cpu_count() or 1)
        width = self._width()
        parts = -(-self.count // width)
        self.rows = np.minimum(np.arange(parts * width), self.count - 1).reshape(parts, width)
        numbers, policies, self.shared = _align(problems)
        self.numbers = self._deal(numbers)
        self.keys = self._deal(_keys(problems))
        duals = self._deal(np.asarray([problem.dual for problem in problems], jnp.result_type(float)))
        begun = [
            _start_part(self.shared, *three)
            for three in zip(self.numbers, self._deal(policies), duals, strict=True)
        ]
        self.learners, outlines = zip(*(eqx.partition(part, eqx.is_array) for part in begun), strict=True)
        self.outline = outlines[0]

    def _width(self) -> int:
        return min(WIDTH, -(-self.count // PARTS))

    def env(self, row: int) -> AbstractEnvironment:
        """The environment of a learner, as its policy sees it."""
        return self.problems[row].estimator.env

    def more(self) -> Arrays:
        """What is recorded besides, an entry per learner."""
        return {}

    def close(self) -> None:
        """Give up whatever learning holds; there is nothing."""

    def advance(self, start: int, stop: int) -> None:
        """Run iterations start … stop − 1 of every learner."""
        span = jnp.asarray(start, jnp.int32), jnp.asarray(stop, jnp.int32)

        def run(part: Any) -> PyTree:
            moved = _advance_part(self.shared, self.outline, part, span)
            return jax.block_until_ready(moved)  # type: ignore[no-untyped-call]

        parts = list(zip(self.numbers, self.keys, self.learners, strict=True))
        self.learners = tuple(on_threads(run, parts, self.threads))

    def reset_tallies(self) -> None:
        """Begin a new record."""
        self.learners = tuple(
            eqx.tree_at(lambda x: x.tally, part, jax.tree.map(jnp.zeros_like, part.tally))
            for part in self.learners
        )

    def gather(self, pick: Callable[[Learner], PyTree]) -> PyTree:
        """Part of every learner, stacked along a first axis of learners."""
        return _join([pick(part) for part in self.learners], self.count)

    def arrays(self) -> Arrays:
        """Everything that changes, by name."""
        return dict(_named(self.gather(lambda learner: learner)))

    def restore(self, arrays: Arrays) -> None:
        """Put back what `arrays` gave."""
        whole = self.gather(lambda learner: learner)
        missing = {name for name, _ in _named(whole)} ^ set(arrays)
        require(not missing, "checkpoint", sorted(missing), "does not belong to this version of the run")

        def put(path: Any, old: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
            return arrays[leaf_name(path)].astype(old.dtype)

        self.learners = tuple(self._deal(jax.tree_util.tree_map_with_path(put, whole)))

    def iterates(self) -> Iterate:
        """What each learner returns, stacked; the parts of it that are no arrays are None."""
        picked = [_pick_part(self.shared, self.outline, part) for part in self.learners]
        joined: Iterate = _join(picked, self.count)
        return joined

    def fault_names(self) -> list[str]:
        """Names of the quantities that are watched."""
        return fault_names(self.learners[0])

    def _deal(self, tree: PyTree) -> list[PyTree]:
        return [jax.tree.map(lambda x, rows=rows: jnp.asarray(x[rows]), tree) for rows in self.rows]


def require_alike(problems: Sequence[Problem]) -> None:
    """Raise unless the problems differ in numbers only."""
    _align(problems)


def _align(problems: Sequence[Problem]) -> tuple[PyTree, PyTree, PyTree]:
    """Stacked numbers of solver and objective, stacked policy arrays, and what all problems share."""
    split = [eqx.partition((problem.solver, problem.objective), _is_number) for problem in problems]
    policies = [eqx.partition(problem.policy, eqx.is_array) for problem in problems]
    first = problems[0]
    shared = (split[0][1], first.estimator, first.selection, policies[0][1])
    for problem, (_, rest), (_, outline) in zip(problems, split, policies, strict=True):
        alike = eqx.tree_equal((rest, problem.estimator, problem.selection, outline), shared)
        require(bool(alike), "sweep", problem.seed, "rows may differ in numbers, not in structure")
    numbers = _stack([numbers for numbers, _ in split])
    numbers = jax.tree.map(lambda x: x.astype(jnp.result_type(float)), numbers)
    return numbers, _stack([arrays for arrays, _ in policies]), shared


def _keys(problems: Sequence[Problem]) -> PyTree:
    keys = [streams(problem.seed) for problem in problems]
    return jnp.stack([jnp.stack([key.training, key.selection]) for key in keys])


def method_of(shared: PyTree, numbers: PyTree) -> Method:
    """What all learners share, with the numbers of one."""
    rest, estimator, selection, _ = shared
    solver, objective = eqx.combine(numbers, rest)
    return Method(solver, objective, estimator, selection)


@eqx.filter_jit
def _start_part(shared: PyTree, numbers: PyTree, policies: PyTree, duals: PyTree) -> PyTree:
    def start(numbers: PyTree, policy: PyTree, dual: PyTree) -> Learner:
        return Learner.start(method_of(shared, numbers), eqx.combine(policy, shared[3]), dual)

    return eqx.filter_vmap(start)(numbers, policies, duals)


@eqx.filter_jit
def _advance_part(shared: PyTree, outline: PyTree, part: PyTree, span: PyTree) -> PyTree:
    def run(numbers: PyTree, keys: PyTree, learner: PyTree) -> PyTree:
        moved = advance(method_of(shared, numbers), keys, eqx.combine(learner, outline), *span)
        return eqx.filter(moved, eqx.is_array)

    return jax.vmap(run)(*part)


@eqx.filter_jit
def _pick_part(shared: PyTree, outline: PyTree, learners: PyTree) -> PyTree:
    def pick(learner: PyTree) -> PyTree:
        whole = eqx.combine(learner, outline)
        return eqx.filter(shared[2].pick(whole.kept, whole.state), eqx.is_array)

    return jax.vmap(pick)(learners)


def _is_number(leaf: Any) -> bool:
    return eqx.is_inexact_array(leaf) or (isinstance(leaf, int | float) and not isinstance(leaf, bool))


def _stack(trees: list[PyTree]) -> PyTree:
    return jax.tree.map(lambda *x: np.stack([np.asarray(a) for a in x]), *trees)


def _join(parts: list[PyTree], count: int) -> PyTree:
    return jax.tree.map(lambda *x: np.concatenate([np.asarray(a) for a in x])[:count], *parts)


def _named(tree: PyTree) -> list[tuple[str, Any]]:
    return [(leaf_name(path), leaf) for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]]
