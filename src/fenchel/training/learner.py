"""One learner, compiled: what it is, what it remembers, and how it advances."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, PyTree

from fenchel.ascent.base import AbstractSolver, SolverState
from fenchel.ascent.blocks import leaf_name, select
from fenchel.ascent.selection import AbstractSelection, Passage
from fenchel.estimators.base import AbstractEstimator
from fenchel.objectives.base import AbstractObjective

NOISE_BUDGET = 2**17
"""Numbers of noise drawn at once: half of a second-level cache."""

MOST_AT_ONCE = 128
"""Iterations whose noise is drawn at once: enough to spread the cost of a draw over, and few enough to waste
little where a chunk ends sooner."""


class Method(eqx.Module):
    """Everything about a learner that stays as it is."""

    solver: AbstractSolver
    objective: AbstractObjective
    estimator: AbstractEstimator
    selection: AbstractSelection


class Tally(eqx.Module):
    """Running moments of the returns since the last record (Chan's update, safe in single precision)."""

    count: Float[Array, ""]
    mean: Float[Array, ""]
    scatter: Float[Array, ""]

    @classmethod
    def empty(cls) -> "Tally":
        """No episodes yet."""
        return cls(jnp.zeros(()), jnp.zeros(()), jnp.zeros(()))

    def add(self, returns: Float[Array, " m"]) -> "Tally":
        """With a batch more."""
        size = returns.shape[0]
        count = self.count + size
        mean = jnp.mean(returns)
        gap = mean - self.mean
        scatter = jnp.sum((returns - mean) ** 2) + gap**2 * self.count * size / count
        return Tally(count, self.mean + gap * size / count, self.scatter + scatter)


class Learner(eqx.Module):
    """All that changes while a learner runs."""

    state: SolverState
    kept: PyTree
    tally: Tally
    fault: Int[Array, ""]
    """Which quantity became non-finite, as an index into `fault_names`; −1 while all is well."""
    stopped: Int[Array, ""]
    """The iteration whose step was refused for it."""

    @classmethod
    def start(cls, method: Method, policy: Any, dual: Float[Array, ""]) -> "Learner":
        """Before the first step."""
        state = method.solver.init(policy, dual, method.estimator)
        nowhere = jnp.full((), -1, jnp.int32)
        return cls(state, method.selection.init(state), Tally.empty(), nowhere, nowhere)


def fault_names(learner: Learner) -> list[str]:
    """The quantities watched, in the order in which they are blamed."""
    paths = jax.tree_util.tree_flatten_with_path(_watched(learner.state))[0]
    return ["return", *(leaf_name(path) for path, _ in paths)]


def advance(
    method: Method, keys: Key[Array, " 2"], learner: Learner, start: Int[Array, ""], stop: Int[Array, ""]
) -> Learner:
    """Run iterations start … stop − 1; their noise depends on the iteration, not on where a chunk ends."""
    training, selecting = keys

    def draw(iteration: Int[Array, ""]) -> PyTree:
        key = jax.random.fold_in(training, iteration)
        return method.solver.draw(key, learner.state.policy, method.estimator)

    size = _block_size(draw)
    arrays, static = eqx.partition(learner, eqx.is_array)

    def one(arrays: PyTree, noise: PyTree, iteration: Int[Array, ""]) -> PyTree:
        moved = step(method, selecting, eqx.combine(arrays, static), noise, iteration)
        return eqx.filter(moved, eqx.is_array)

    def block(carry: tuple[PyTree, Int[Array, ""]]) -> tuple[PyTree, Int[Array, ""]]:
        arrays, first = carry
        noise = jax.vmap(draw)(first + jnp.arange(size))
        count = jnp.minimum(size, stop - first)

        def body(i: Int[Array, ""], arrays: PyTree) -> PyTree:
            return one(arrays, jax.tree.map(lambda x: x[i], noise), first + i)

        return jax.lax.fori_loop(0, count, body, arrays), first + count

    arrays, _ = jax.lax.while_loop(lambda carry: carry[1] < stop, block, (arrays, start))
    finished: Learner = eqx.combine(arrays, static)
    return finished


def step(
    method: Method, key: Key[Array, ""], learner: Learner, noise: PyTree, iteration: Int[Array, ""]
) -> Learner:
    """One iteration; a step that leads to a non-finite value is not taken, nor any after it."""
    state, info = method.solver.step(noise, iteration, learner.state, method.estimator, method.objective)
    steps = method.solver.step_sizes(iteration)
    passage = Passage(key, iteration, learner.state, state, steps, method.objective)
    kept = method.selection.update(learner.kept, passage)
    fault = _first_fault(info.returns, state)
    running = learner.fault < 0
    new = Learner(state, kept, learner.tally.add(info.returns), learner.fault, learner.stopped)
    arrays, static = eqx.partition(learner, eqx.is_array)
    chosen = eqx.combine(select(running & (fault < 0), eqx.filter(new, eqx.is_array), arrays), static)
    judged: Learner = eqx.tree_at(
        lambda x: (x.fault, x.stopped),
        chosen,
        (
            jnp.where(running, fault, learner.fault),
            jnp.where(running & (fault >= 0), iteration, learner.stopped),
        ),
    )
    return judged


def _first_fault(returns: Float[Array, " m"], state: SolverState) -> Int[Array, ""]:
    leaves = [returns, *jax.tree.leaves(_watched(state))]
    broken = jnp.stack([~jnp.all(jnp.isfinite(leaf)) for leaf in leaves])
    return jnp.where(jnp.any(broken), jnp.argmax(broken), -1).astype(jnp.int32)


def _watched(state: SolverState) -> PyTree:
    return eqx.filter(state, eqx.is_inexact_array)


def _block_size(draw: Any) -> int:
    shapes = jax.tree.leaves(jax.eval_shape(draw, jnp.zeros((), jnp.int32)))
    numbers: int = sum(shape.size for shape in shapes)
    return max(1, min(MOST_AT_ONCE, NOISE_BUDGET // max(1, numbers)))
