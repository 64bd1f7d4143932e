"""Block coordinate ascent over the iterate (θ, y): one mechanism for the paper's whole family."""

from typing import NamedTuple, final

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, Key, PyTree

from fenchel.ascent.base import AbstractSolver, SolverState, StepInfo
from fenchel.ascent.mirror import AbstractMirror, Euclidean
from fenchel.ascent.prox import AbstractProx
from fenchel.ascent.schedules import AbstractSchedule, Constant
from fenchel.errors import InputError, require, require_choice, require_positive
from fenchel.estimators.base import AbstractEstimator
from fenchel.estimators.episodes import Episodes
from fenchel.noise import uniforms
from fenchel.objectives.base import AbstractObjective
from fenchel.policies.base import AbstractPolicy

ORDERS = ("cyclic", "simultaneous", "random", "shuffled")

PLAIN = optax.sgd(1.0)
"""The plain gradient step; a shared constant, so that equal solvers share one compiled program."""


class Iterate(NamedTuple):
    """x = (θ, y), and a multiplier where the objective has a constraint."""

    policy: AbstractPolicy
    dual: Float[Array, ""]
    multiplier: Float[Array, ""] | None = None


@final
class Block(eqx.Module):
    """Some leaves of the iterate, and how they move.

    Arguments:
        where: names of the leaves that move together: "dual", "multiplier", "policy", or a part such as
            "policy.weights".
        step_size: schedule of the step size β_t.
        optimizer: Optax transformation of the direction; its own learning rate multiplies the step size.
        prox: proximal operator or projection applied after the step.
        mirror: geometry of the step.
        exact: of the dual: no step, but the best dual of the batch.
        hold: of an exact dual: iterations for which it stays where it began.
    """

    where: tuple[str, ...] = eqx.field(static=True)
    step_size: AbstractSchedule = Constant(1.0)
    optimizer: optax.GradientTransformation = eqx.field(static=True, default=PLAIN)
    prox: AbstractProx | None = None
    mirror: AbstractMirror = Euclidean()
    exact: bool = eqx.field(static=True, default=False)
    hold: float | Float[Array, ""] | None = None

    def __check_init__(self) -> None:
        remedy = "only the dual has a best value in closed form; leave it out for other blocks"
        require(not self.exact or self.where == ("dual",), "exact", self.exact, remedy)

    def select(self, iterate: Iterate) -> PyTree:
        """The block's own parameters; everything else is None."""
        params = eqx.filter(iterate, eqx.is_inexact_array)
        return jax.tree_util.tree_map_with_path(lambda path, x: x if self._owns(path) else None, params)

    def update(
        self, direction: PyTree, iteration: Int[Array, ""], params: PyTree, memory: PyTree
    ) -> tuple[PyTree, PyTree]:
        """Move along an ascent direction: the one place where the sign flips for Optax."""
        descent = jax.tree.map(jnp.negative, direction)
        updates, memory = self.optimizer.update(descent, memory, params)
        step = self.step_size(iteration)
        params = self.mirror(params, updates, step)
        return (params if self.prox is None else self.prox(params, step)), memory

    def _owns(self, path: tuple[object, ...]) -> bool:
        name = leaf_name(path)
        return any(name == part or name.startswith((f"{part}.", f"{part}[")) for part in self.where)


@final
class BlockAscent(AbstractSolver):
    """Ascent over b blocks.

    Arguments:
        blocks: they partition the iterate, or leave a part of it at rest.
        order: "cyclic" updates in the order given, each block seeing the blocks before it already updated
            (Gauss-Seidel); "shuffled" does so in a new order each step; "simultaneous" updates all at the old
            iterate; "random" updates one block, drawn uniformly, and leaves the others bit for bit.
        fresh_batch: sample a batch of its own for each block. It removes the O(β) bias that arises when a
            block sees both an updated dual and the episodes that updated it.
        phase_in: iterations over which the policy's objective turns from the expected return into the one
            asked for; None to begin with that. Many risk objectives have a local optimum at doing nothing,
            which the policies of least risk aversion are far from.
        entropy: weight of the policy's entropy in its direction, in units of the typical advantage, which the
            direction is then divided by; None for neither.
    """

    blocks: tuple[Block, ...]
    order: str = eqx.field(static=True, default="cyclic")
    fresh_batch: bool = eqx.field(static=True, default=False)
    phase_in: float | Float[Array, ""] | None = None
    entropy: AbstractSchedule | None = None

    def __check_init__(self) -> None:
        require(len(self.blocks) > 0, "blocks", self.blocks, "must hold at least one block")
        require_choice("order", self.order, ORDERS)
        if isinstance(self.phase_in, int | float):
            require_positive("phase_in", self.phase_in)

    @property
    def batches(self) -> int:
        """One, or one per block; a random block needs just one."""
        return len(self.blocks) if self.fresh_batch and self.order != "random" else 1

    def init(
        self, policy: AbstractPolicy, dual: Float[Array, ""], estimator: AbstractEstimator | None = None
    ) -> SolverState:
        """Initial optimiser state of every block, and at the end what the estimator remembers."""
        constrained = any(block.where == ("multiplier",) for block in self.blocks)
        iterate = Iterate(policy, dual, jnp.zeros_like(dual) if constrained else None)
        self._check_partition(iterate)
        memory = (block.optimizer.init(block.select(iterate)) for block in self.blocks)
        learned = None if estimator is None else estimator.init(policy)
        return SolverState(policy, dual, (*memory, learned), iterate.multiplier)

    def draw(
        self, key: Key[Array, ""], policy: AbstractPolicy, estimator: AbstractEstimator
    ) -> tuple[tuple[PyTree, ...], Array]:
        """Noise of each batch, and the numbers that decide the order."""
        order, *batches = jax.random.split(key, 1 + self.batches)
        return tuple(estimator.draw(k, policy) for k in batches), uniforms(order, (len(self.blocks),))

    def step(
        self,
        noise: tuple[tuple[PyTree, ...], Array],
        iteration: Int[Array, ""],
        state: SolverState,
        estimator: AbstractEstimator,
        objective: AbstractObjective,
    ) -> tuple[SolverState, StepInfo]:
        """One sweep over the blocks."""
        if self.phase_in is not None:
            objective = objective.phased(jnp.minimum(iteration / self.phase_in, 1))
        start = Iterate(state.policy, state.dual, state.multiplier)
        sweep = _Sweep(self, iteration, estimator, objective, noise[0], start)
        memory = state.memory
        if self.order == "shuffled":
            iterate, memory = sweep.shuffled(noise[1], memory)
        elif self.order == "cyclic":
            iterate, memory = sweep.cyclic(memory)
        else:
            active = jnp.floor(noise[1][0] * len(self.blocks)) if self.order == "random" else None
            iterate, memory = sweep.parallel(memory, active)
        moved = SolverState(iterate.policy, iterate.dual, memory, iterate.multiplier)
        return moved, StepInfo(sweep.returns())

    def step_sizes(self, iteration: Int[Array, ""]) -> Float[Array, " b"]:
        """β_t of each block."""
        return jnp.stack([jnp.asarray(block.step_size(iteration)) for block in self.blocks])

    def _check_partition(self, iterate: Iterate) -> None:
        paths = jax.tree_util.tree_flatten_with_path(eqx.filter(iterate, eqx.is_inexact_array))[0]
        names = [leaf_name(path) for path, _ in paths]
        for block in self.blocks:
            owned = [leaf_name(path) for path, _ in paths if block._owns(path)]
            require(bool(owned), "where", block.where, f"names no parameter; there are {', '.join(names)}")
        for path, _ in paths:
            owners = [block.where for block in self.blocks if block._owns(path)]
            if len(owners) > 1:
                raise InputError("blocks", owners, f"share {leaf_name(path)}; a leaf belongs to one block")


class _Sweep:
    """The updates of one step; samples each batch when it is first needed."""

    def __init__(
        self,
        solver: BlockAscent,
        iteration: Int[Array, ""],
        estimator: AbstractEstimator,
        objective: AbstractObjective,
        noise: tuple[PyTree, ...],
        start: Iterate,
    ):
        self.solver, self.iteration = solver, iteration
        self.estimator, self.objective = estimator, objective
        self.noise, self.start = noise, start
        self.sampled: list[Episodes] = []

    def episodes(self, iterate: Iterate) -> Episodes:
        """The step's batch, or the next fresh one."""
        if len(self.sampled) < len(self.noise):
            self.sampled.append(self.estimator.sample(self.noise[len(self.sampled)], iterate.policy))
        return self.sampled[-1]

    def returns(self) -> Float[Array, " m"]:
        """Returns of all batches of the step."""
        return jnp.concatenate([episodes.own_returns for episodes in self.sampled])

    def move(self, index: int, iterate: Iterate, memory: PyTree, episodes: Episodes) -> tuple[PyTree, PyTree]:
        """New parameters of one block, and the memory of all."""
        block = self.solver.blocks[index]
        params = block.select(iterate)
        if block.exact:
            outcomes = episodes.own_outcomes(self.objective)
            dual = self.objective.best_dual(outcomes)
            if block.hold is not None:
                dual = jnp.where(self.iteration < block.hold, params.dual, dual)
            best = params._replace(dual=dual)
            return (best if block.prox is None else block.prox(best, jnp.ones(()))), memory
        direction, learned = self.direction(iterate, episodes, params, memory[-1])
        params, own = block.update(block.select(direction), self.iteration, params, memory[index])
        return params, (*_put(memory[:-1], index, own), learned)

    def direction(
        self, iterate: Iterate, episodes: Episodes, params: PyTree, learned: PyTree
    ) -> tuple[Iterate, PyTree]:
        """Ascent direction at the iterate, of the policy only where the block holds some of it."""
        goal, seen = self.objective, (episodes.own_outcomes(self.objective), iterate.dual)
        slope, excess = goal.dual_slope(*seen), None
        if iterate.multiplier is not None:
            excess, goal = goal.excess(*seen), goal.lagrangian(iterate.multiplier, *seen)
        if not jax.tree.leaves(params.policy):
            return Iterate(params.policy, slope, excess), learned
        about = iterate.policy, episodes, goal, iterate.dual
        learned = self.estimator.remember(learned, *about)
        entropy = None if self.solver.entropy is None else self.solver.entropy(self.iteration)
        return Iterate(self.estimator.direction(*about, learned, entropy), slope, excess), learned

    def cyclic(self, memory: PyTree) -> tuple[Iterate, PyTree]:
        iterate = self.start
        for index in range(len(self.solver.blocks)):
            params, memory = self.move(index, iterate, memory, self.episodes(iterate))
            iterate = eqx.combine(params, iterate)
        return iterate, memory

    def parallel(self, memory: PyTree, active: Float[Array, ""] | None) -> tuple[Iterate, PyTree]:
        iterate = self.start
        for index in range(len(self.solver.blocks)):
            params, moved = self.move(index, self.start, memory, self.episodes(self.start))
            if active is not None:
                old = (self.solver.blocks[index].select(self.start), memory)
                params, moved = select(active == index, (params, moved), old)
            iterate, memory = eqx.combine(params, iterate), moved
        return iterate, memory

    def shuffled(self, numbers: Float[Array, " b"], memory: PyTree) -> tuple[Iterate, PyTree]:
        arrays, static = eqx.partition((self.start, memory), eqx.is_array)
        for index in jnp.argsort(numbers):
            episodes = self.episodes(eqx.combine(arrays, static)[0])

            def branch(index: int, arrays: PyTree, episodes: Episodes = episodes) -> PyTree:
                iterate, memory = eqx.combine(arrays, static)
                params, memory = self.move(index, iterate, memory, episodes)
                return eqx.filter((eqx.combine(params, iterate), memory), eqx.is_array)

            branches = [lambda a, i=i: branch(i, a) for i in range(len(self.solver.blocks))]
            arrays = jax.lax.switch(index, branches, arrays)
        result: tuple[Iterate, PyTree] = eqx.combine(arrays, static)
        return result


def leaf_name(path: tuple[object, ...]) -> str:
    """A leaf's name as the user writes it, such as "policy.weights"."""
    return jax.tree_util.keystr(path).lstrip(".")


def select(flag: Bool[Array, ""], new: PyTree, old: PyTree) -> PyTree:
    """`new` where the flag holds, else `old`, leaf by leaf."""
    return jax.tree.map(lambda a, b: jnp.where(flag, a, b) if eqx.is_array(a) else a, new, old)


def _put(items: tuple[PyTree, ...], index: int, item: PyTree) -> tuple[PyTree, ...]:
    return (*items[:index], item, *items[index + 1 :])
