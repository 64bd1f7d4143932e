"""What a policy does in a finite problem, and exact gradients in its parameters, in double precision."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from fenchel.errors import require
from fenchel.exact.evaluator import Evaluator
from fenchel.exact.policy import FinitePolicy
from fenchel.exact.simulator import ProblemLike, as_problem
from fenchel.exact.surrogates import bracket, in_double
from fenchel.objectives.base import AbstractObjective, AbstractSurrogate
from fenchel.policies.base import AbstractPolicy
from fenchel.policies.categorical import AbstractDiscrete


def played(problem: ProblemLike, policy: AbstractPolicy) -> FinitePolicy:
    """What a policy does in every state of a problem, from what the problem shows it there.

    >>> from fenchel import make, make_policy
    >>> env = make("option")
    >>> round(played(env, make_policy("linear", env)).law.mean, 6)
    0.010477
    """
    problem = as_problem(problem)
    with jax.enable_x64(True):
        chances = np.asarray(_chances(Evaluator.of(problem), in_double(require_discrete(policy))))
    edges = np.cumsum([layer.size for layer in problem.layers])[:-1]
    return FinitePolicy(problem, tuple(np.split(chances, edges)))


def gradient(
    problem: ProblemLike, policy: AbstractPolicy, objective: AbstractObjective, dual: float | None = None
) -> AbstractPolicy:
    """The exact gradient of E[ψ(R, y)] in double precision, shaped like the policy.

    Arguments:
        problem: the finite problem.
        policy: a policy of what it shows.
        objective: ψ. `FenchelMeanVariance` with a dual gives ∇f̂_λ(θ, y), `MeanVariance` without one ∇J_λ,
            and `Expectation` ∇J.
        dual: y; the best one if none is given.
    """
    problem = as_problem(problem)
    if objective.has_dual and isinstance(objective, AbstractSurrogate):
        bracket(objective, problem.returns)
    with jax.enable_x64(True):
        numbers = None if dual is None else jnp.asarray(dual)
        double = in_double(require_discrete(policy)), Evaluator.of(problem), in_double(objective)
        slope = _gradient(*double, numbers)
        found: AbstractPolicy = jax.tree.map(lambda x: np.asarray(x) if eqx.is_array(x) else x, slope)
        return found


def require_discrete(policy: AbstractPolicy) -> AbstractDiscrete:
    """`policy`, if it can list the probabilities of its actions."""
    remedy = "must list the probabilities of its actions: a tabular, linear or mlp softmax policy"
    require(isinstance(policy, AbstractDiscrete), "policy", type(policy).__name__, remedy)
    assert isinstance(policy, AbstractDiscrete)
    return policy


@eqx.filter_jit
def _chances(evaluator: Evaluator, policy: AbstractDiscrete) -> jax.Array:
    return evaluator.chances(policy)


@eqx.filter_jit
@eqx.filter_grad
def _gradient(
    policy: AbstractDiscrete, evaluator: Evaluator, objective: AbstractObjective, dual: jax.Array | None
) -> jax.Array:
    return evaluator.value(policy, objective, dual)
