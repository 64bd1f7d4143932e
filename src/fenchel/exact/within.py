"""The best that a class of policies can do: ascent along exact gradients, from many starts in one program."""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Float, PyTree

from fenchel.errors import require_count, require_positive
from fenchel.exact.evaluator import Evaluator, played, require_discrete
from fenchel.exact.optimum import Optimum
from fenchel.exact.policy import FinitePolicy
from fenchel.exact.problem import Array
from fenchel.exact.search import best
from fenchel.exact.simulator import ProblemLike, as_problem
from fenchel.exact.surrogates import in_double
from fenchel.objectives.base import AbstractObjective
from fenchel.policies.base import AbstractPolicy
from fenchel.policies.categorical import AbstractDiscrete
from fenchel.policies.tabular import DirectTabular, Tabular

IMITATE, HOLD = 0.2, 0.5
"""Shares of the iterations in which some starts imitate the certified optimum, and all hold its dual."""

TINY = 1e-30
"""Adam's ε, and the least probability in a logarithm: steps stay of one size while gradients fade."""


@dataclass(frozen=True)
class ClassOptimum:
    """The best policy of a class that was found.

    Arguments:
        objective: what is maximised, in the units of the return.
        policy: the best policy found.
        played: what it does in every state.
        values: the objective that each start led to, in rising order: how far they agree says how far to
            trust the best of them, for there may be many local optima.
        optimum: the best of all policies, certified.
    """

    objective: AbstractObjective
    policy: AbstractPolicy
    played: FinitePolicy
    values: Float[Array, " restarts"]
    optimum: Optimum

    @property
    def value(self) -> float:
        """The objective of the policy."""
        return self.played.law.value(self.objective)

    @property
    def gap(self) -> float:
        """What is lost by choosing the class, and a little more if its best policy was not found."""
        return self.optimum.upper - self.value


@dataclass(frozen=True)
class Split:
    """Where the value of a policy is lost: optimum − class loss − learning loss.

    Arguments:
        value: the objective of the policy, exact.
        within: the best policy of its class that was found.
        played: what the policy does in every state.
    """

    value: float
    within: ClassOptimum
    played: FinitePolicy

    @property
    def optimum(self) -> float:
        """The best value of any policy."""
        return self.within.optimum.value

    @property
    def class_loss(self) -> float:
        """What no policy of the class attains, as far as ascent within it found out."""
        return self.optimum - self.within.value

    @property
    def learning_loss(self) -> float:
        """What a better policy of the class would add."""
        return self.within.value - self.value


def split(problem: ProblemLike, policy: AbstractPolicy, objective: AbstractObjective, **how: Any) -> Split:
    """Where the value of a learned policy is lost.

    Arguments:
        problem: the finite problem.
        policy: the learned policy; one of the starts of the ascent within its class.
        objective: what it was learned for.
        **how: as for `class_optimum`.
    """
    problem = as_problem(problem)
    taken = played(problem, policy)
    return Split(taken.law.value(objective), class_optimum(problem, policy, objective, **how), taken)


def class_optimum(
    problem: ProblemLike,
    policy: AbstractPolicy,
    objective: AbstractObjective,
    *,
    restarts: int = 16,
    iterations: int = 2000,
    step_size: float = 0.5,
    spread: float = 1.0,
    seed: int = 0,
    optimum: Optimum | None = None,
) -> ClassOptimum:
    """The best value of an objective within a class of policies, by ascent along exact gradients.

    The problem is not concave: an option that is exercised at once is a local optimum. So every start holds
    the dual at that of the certified optimum for a while, which leaves an ordinary decision problem, and
    every other start first imitates the certified optimum as well as its class can.

    Arguments:
        problem: the finite problem.
        policy: a policy of what it shows; its parameters are the first start.
        objective: what to maximise.
        restarts: starts, all in one compiled program.
        iterations: steps of Adam, with a step size that falls to zero along a cosine.
        step_size: the first of them.
        spread: standard deviation of the parameters that are added to those given, for the other starts.
        seed: of the starts.
        optimum: the certified optimum, if it is known already.
    """
    require_count("restarts", restarts)
    require_count("iterations", iterations)
    require_positive("step_size", step_size)
    require_positive("spread", spread)
    problem, natural = as_problem(problem), objective.natural()
    known = best(problem, natural) if optimum is None else optimum
    with jax.enable_x64(True):
        start, static = eqx.partition(in_double(_open(require_discrete(policy))), eqx.is_inexact_array)
        guide = _Guide(*map(jnp.asarray, (known.dual, *_target(known))))
        climb = partial(_climb, static, Evaluator.of(problem), in_double(natural), guide, iterations)
        imitates = jnp.arange(restarts) % 2 == 1
        values, found = climb(jnp.asarray(step_size), _starts(start, restarts, spread, seed), imitates)
        row = int(jnp.argmax(values))
        chosen: AbstractPolicy = eqx.combine(jax.tree.map(lambda x: x[row], found), static)
    return ClassOptimum(natural, chosen, played(problem, chosen), np.sort(values), known)


class _Guide(NamedTuple):
    """What the certified optimum tells: its dual, its actions, and how often it is in each state."""

    dual: Any
    actions: Any
    visits: Any


def _target(optimum: Optimum) -> tuple[Array, Array]:
    visits = np.concatenate([layer.sum(axis=1) for layer in optimum.policy.visits])
    return np.concatenate(optimum.policy.actions), visits / np.sum(visits)


def _open(policy: AbstractDiscrete) -> AbstractDiscrete:
    """A table of probabilities as softmax of logits: the same class, without its edges."""
    if not isinstance(policy, DirectTabular):
        return policy
    logs = jnp.log(jnp.maximum(policy.table, 1e-3))
    return Tabular(logs[:, 1:] - logs[:, :1])


def _starts(start: PyTree, restarts: int, spread: float, seed: int) -> PyTree:
    leaves, tree = jax.tree.flatten(start)
    keys = jax.random.split(jax.random.key(seed), len(leaves))
    noise = [jax.random.normal(key, (restarts, *x.shape)) for key, x in zip(keys, leaves, strict=True)]
    starts = [x[None] + spread * n.at[0].set(0) for x, n in zip(leaves, noise, strict=True)]
    return jax.tree.unflatten(tree, starts)


@eqx.filter_jit
def _climb(
    static: Any,
    evaluator: Evaluator,
    objective: AbstractObjective,
    guide: _Guide,
    iterations: int,
    step_size: Any,
    starts: PyTree,
    imitates: Any,
) -> tuple[Any, PyTree]:
    """The best value that each start passes, and the parameters there."""
    adam = optax.scale_by_adam(eps=TINY)

    def goal(params: PyTree, copies: Any, holds: Any) -> tuple[Any, Any]:
        chances = evaluator.chances(eqx.combine(params, static))
        law = evaluator.law_of(chances)
        own = jax.lax.stop_gradient(evaluator.best_dual(law, objective))
        surrogate = jax.vmap(objective.surrogate, (0, None))
        returns = jnp.asarray(evaluator.returns)
        held = law @ surrogate(returns, jnp.where(holds, guide.dual, own))
        taken = jnp.take_along_axis(chances, guide.actions[:, None], axis=1)[:, 0]
        likeness = guide.visits @ jnp.log(jnp.maximum(taken, TINY))
        return jnp.where(copies, likeness, held), law @ surrogate(returns, own)

    def climb(params: PyTree, imitates: Any) -> tuple[Any, PyTree]:
        def step(carry: Any, k: Any) -> tuple[Any, None]:
            params, memory, kept, top = carry
            done = k / iterations
            slope, value = jax.grad(goal, has_aux=True)(params, imitates & (done < IMITATE), done < HOLD)
            kept = jax.tree.map(lambda new, old: jnp.where(value > top, new, old), params, kept)
            updates, memory = adam.update(slope, memory)
            rate = step_size * (1 + jnp.cos(jnp.pi * done)) / 2
            params = jax.tree.map(lambda x, update: x + rate * update, params, updates)
            return (params, memory, kept, jnp.maximum(value, top)), None

        start = params, adam.init(params), params, -jnp.inf
        (_, _, kept, top), _ = jax.lax.scan(step, start, jnp.arange(iterations))
        return top, kept

    return jax.vmap(climb)(starts, imitates)
