"""Which iterate a run returns; kept on the way, so that no history is stored."""

from abc import abstractmethod
from typing import final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, PyTree

from fenchel.ascent.base import AbstractSolver, SolverState
from fenchel.ascent.blocks import Iterate, select
from fenchel.errors import require_count, require_positive
from fenchel.estimators.base import AbstractEstimator
from fenchel.noise import uniforms
from fenchel.objectives.base import AbstractObjective


class AbstractSelection(eqx.Module):
    """Watches the iterates of a run and keeps the one to be returned."""

    @abstractmethod
    def init(self, state: SolverState) -> PyTree:
        """What is kept before the first step."""

    @abstractmethod
    def update(
        self,
        key: Key[Array, ""],
        iteration: Int[Array, ""],
        kept: PyTree,
        moved: tuple[SolverState, SolverState],
        solver: AbstractSolver,
        objective: AbstractObjective,
    ) -> PyTree:
        """What is kept after a step that moved the state from one to the other; `key` is the run's own."""

    @abstractmethod
    def pick(self, kept: PyTree, last: SolverState) -> Iterate:
        """The iterate to return."""


@final
class LastIterate(AbstractSelection):
    """Option I: the last iterate."""

    def init(self, state: SolverState) -> PyTree:
        """Nothing."""
        return None

    def update(self, key, iteration, kept, moved, solver, objective):  # type: ignore[no-untyped-def]
        """Nothing."""
        return None

    def pick(self, kept: PyTree, last: SolverState) -> Iterate:
        """The last one."""
        return Iterate(last.policy, last.dual)


class _AbstractDraw(AbstractSelection):
    """One of x₁ … x_N, with probability proportional to a weight: a reservoir of one."""

    @abstractmethod
    def weight(self, iteration: Int[Array, ""], solver: AbstractSolver) -> Float[Array, ""]:
        """Unnormalised Pr(z = t)."""

    def init(self, state: SolverState) -> PyTree:
        """The first iterate, and the total weight so far."""
        arrays = eqx.filter(Iterate(state.policy, state.dual), eqx.is_array)
        return arrays, jnp.zeros_like(state.dual)

    def update(
        self,
        key: Key[Array, ""],
        iteration: Int[Array, ""],
        kept: PyTree,
        moved: tuple[SolverState, SolverState],
        solver: AbstractSolver,
        objective: AbstractObjective,
    ) -> PyTree:
        """Take x_t, the iterate before its step, with probability w_t / (w_1 + … + w_t)."""
        weight = jnp.maximum(self.weight(iteration, solver), 0)
        total = kept[1] + weight
        take = uniforms(jax.random.fold_in(key, iteration), ()) * total < weight
        candidate = eqx.filter(Iterate(moved[0].policy, moved[0].dual), eqx.is_array)
        return select(take, candidate, kept[0]), total

    def pick(self, kept: PyTree, last: SolverState) -> Iterate:
        """The drawn one."""
        picked: Iterate = eqx.combine(kept[0], Iterate(last.policy, last.dual))
        return picked


@final
class UniformIterate(_AbstractDraw):
    """Option II: an iterate drawn uniformly."""

    def weight(self, iteration: Int[Array, ""], solver: AbstractSolver) -> Float[Array, ""]:
        """One."""
        return jnp.ones(())


@final
class WeightedIterate(_AbstractDraw):
    """BSG's draw (`eq:prob-z`): Pr(z = t) ∝ β_t^min − (L/2)(β_t^max)², where that is positive.

    Arguments:
        smoothness: the Lipschitz constant L of the gradient.
    """

    smoothness: float | Float[Array, ""] = 1.0

    def __check_init__(self) -> None:
        if isinstance(self.smoothness, int | float):
            require_positive("smoothness", self.smoothness)

    def weight(self, iteration: Int[Array, ""], solver: AbstractSolver) -> Float[Array, ""]:
        """β_t^min − (L/2)(β_t^max)²."""
        steps = solver.step_sizes(iteration)
        return jnp.min(steps) - self.smoothness / 2 * jnp.max(steps) ** 2


@final
class BestIterate(AbstractSelection):
    """The best iterate so far on a validation batch, the same episodes' noise each time.

    Arguments:
        estimator: samples the validation batch.
        every: iterations between two looks.
    """

    estimator: AbstractEstimator
    every: int = eqx.field(static=True, default=1000)

    def __check_init__(self) -> None:
        require_count("every", self.every)

    def init(self, state: SolverState) -> PyTree:
        """The first iterate, not yet looked at."""
        arrays = eqx.filter(Iterate(state.policy, state.dual), eqx.is_array)
        return arrays, jnp.full_like(state.dual, -jnp.inf)

    def update(
        self,
        key: Key[Array, ""],
        iteration: Int[Array, ""],
        kept: PyTree,
        moved: tuple[SolverState, SolverState],
        solver: AbstractSolver,
        objective: AbstractObjective,
    ) -> PyTree:
        """Every so many steps, keep the new iterate if it does better."""
        candidate = eqx.filter(Iterate(moved[1].policy, moved[1].dual), eqx.is_array)

        def look() -> PyTree:
            noise = self.estimator.draw(key, moved[1].policy)
            value = objective.value(self.estimator.sample(noise, moved[1].policy).returns)
            return select(value > kept[1], (candidate, value), kept)

        return jax.lax.cond((iteration + 1) % self.every == 0, look, lambda: kept)

    def pick(self, kept: PyTree, last: SolverState) -> Iterate:
        """The best one; the last where none was looked at."""
        seen = kept[1] > -jnp.inf
        final_arrays = eqx.filter(Iterate(last.policy, last.dual), eqx.is_array)
        picked: Iterate = eqx.combine(select(seen, kept[0], final_arrays), Iterate(last.policy, last.dual))
        return picked
