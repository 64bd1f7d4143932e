"""The best that a class of policies can do: ascent along exact gradients, from many starts in one program."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from fenchel.errors import require_count, require_positive
from fenchel.exact.climb import Guide, climb, softened, starts_of
from fenchel.exact.evaluator import Evaluator
from fenchel.exact.gradients import played, require_discrete
from fenchel.exact.optimum import Optimum
from fenchel.exact.policy import FinitePolicy
from fenchel.exact.problem import Array
from fenchel.exact.search import best
from fenchel.exact.simulator import ProblemLike, as_problem
from fenchel.exact.surrogates import in_double
from fenchel.objectives.base import AbstractObjective
from fenchel.policies.base import AbstractPolicy


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
        start, static = eqx.partition(in_double(softened(require_discrete(policy))), eqx.is_inexact_array)
        ascend = partial(
            climb, static, Evaluator.of(problem), in_double(natural), Guide.of(known), iterations
        )
        imitates = jnp.arange(restarts) % 2 == 1
        values, found = ascend(jnp.asarray(step_size), starts_of(start, restarts, spread, seed), imitates)
        row = int(jnp.argmax(values))
        chosen: AbstractPolicy = eqx.combine(jax.tree.map(lambda x: x[row], found), static)
    return ClassOptimum(natural, chosen, played(problem, chosen), np.sort(values), known)
