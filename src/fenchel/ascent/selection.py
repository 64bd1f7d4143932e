"""Which iterate a run returns; kept on the way, so that no history is stored."""

from abc import abstractmethod
from typing import NamedTuple, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, PyTree

from fenchel.ascent.base import SolverState
from fenchel.ascent.blocks import Iterate, select
from fenchel.errors import require_count, require_positive
from fenchel.estimators.base import AbstractEstimator
from fenchel.noise import uniforms
from fenchel.objectives.base import AbstractObjective


class Passage(NamedTuple):
    """One step as a selection sees it; `key` is the run's own and the same in every step."""

    key: Key[Array, ""]
    iteration: Int[Array, ""]
    before: SolverState
    after: SolverState
    step_sizes: Float[Array, " b"]
    objective: AbstractObjective


class AbstractSelection(eqx.Module):
    """Watches the iterates of a run and keeps the one to be returned."""

    @abstractmethod
    def init(self, state: SolverState) -> PyTree:
        """What is kept before the first step."""

    @abstractmethod
    def update(self, kept: PyTree, passage: Passage) -> PyTree:
        """What is kept after a step."""

    @abstractmethod
    def pick(self, kept: PyTree, last: SolverState) -> Iterate:
        """The iterate to return."""


@final
class LastIterate(AbstractSelection):
    """Option I: the last iterate."""

    def init(self, state: SolverState) -> PyTree:
        """Nothing."""
        return None

    def update(self, kept: PyTree, passage: Passage) -> PyTree:
        """Nothing."""
        return kept

    def pick(self, kept: PyTree, last: SolverState) -> Iterate:
        """The last one."""
        return iterate_of(last)


class _AbstractDraw(AbstractSelection):
    """One of x₁ … x_N, with probability proportional to a weight: a reservoir of one."""

    @abstractmethod
    def weight(self, step_sizes: Float[Array, " b"]) -> Float[Array, ""]:
        """Unnormalised Pr(z = t)."""

    def init(self, state: SolverState) -> PyTree:
        """The first iterate, and the average weight so far: a sum stops growing at 2²⁴ in floats."""
        arrays = eqx.filter(iterate_of(state), eqx.is_array)
        return arrays, jnp.zeros_like(state.dual)

    def update(self, kept: PyTree, passage: Passage) -> PyTree:
        """Take x_t, the iterate before its step, with probability w_t / (w_1 + … + w_t)."""
        weight = jnp.maximum(self.weight(passage.step_sizes), 0)
        count = passage.iteration + 1
        average = kept[1] + (weight - kept[1]) / count
        take = fraction(jax.random.fold_in(passage.key, passage.iteration)) * average * count < weight
        candidate = eqx.filter(iterate_of(passage.before), eqx.is_array)
        return select(take, candidate, kept[0]), average

    def pick(self, kept: PyTree, last: SolverState) -> Iterate:
        """The drawn one."""
        picked: Iterate = eqx.combine(kept[0], iterate_of(last))
        return picked


@final
class UniformIterate(_AbstractDraw):
    """Option II: an iterate drawn uniformly."""

    def weight(self, step_sizes: Float[Array, " b"]) -> Float[Array, ""]:
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

    def weight(self, step_sizes: Float[Array, " b"]) -> Float[Array, ""]:
        """β_t^min − (L/2)(β_t^max)²."""
        return jnp.min(step_sizes) - self.smoothness / 2 * jnp.max(step_sizes) ** 2


def iterate_of(state: SolverState) -> Iterate:
    """The part of a state that a run may return."""
    return Iterate(state.policy, state.dual, state.multiplier)


def fraction(key: Key[Array, ""]) -> Float[Array, ""]:
    """A uniform number finer than 24 bits: one in ten million is 1.7 of their units."""
    numbers = uniforms(key, (2,))
    return numbers[0] + numbers[1] * 2.0**-24


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
        arrays = eqx.filter(iterate_of(state), eqx.is_array)
        return arrays, jnp.full_like(state.dual, -jnp.inf)

    def update(self, kept: PyTree, passage: Passage) -> PyTree:
        """Every so many steps, keep the new iterate if it does better."""
        policy = passage.after.policy
        candidate = eqx.filter(iterate_of(passage.after), eqx.is_array)

        def look() -> PyTree:
            noise = self.estimator.draw(passage.key, policy)
            outcomes = self.estimator.sample(noise, policy).outcomes(passage.objective)
            value = passage.objective.value(outcomes)
            return select(value > kept[1], (candidate, value), kept)

        return jax.lax.cond((passage.iteration + 1) % self.every == 0, look, lambda: kept)

    def pick(self, kept: PyTree, last: SolverState) -> Iterate:
        """The best one; the last where none was looked at."""
        seen = kept[1] > -jnp.inf
        final_arrays = eqx.filter(iterate_of(last), eqx.is_array)
        picked: Iterate = eqx.combine(select(seen, kept[0], final_arrays), iterate_of(last))
        return picked
