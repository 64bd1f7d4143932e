"""What is known of an environment: the scale of an objective, and what policies are worth."""

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PyTree

from fenchel.envs import AbstractEnvironment, Allocation, Execution, Portfolio
from fenchel.errors import InputError
from fenchel.estimators import draw_rollout, rollout
from fenchel.exact import (
    Evaluator,
    FinitePolicy,
    FiniteProblem,
    Frontier,
    Optimum,
    PortfolioOptimum,
    ReturnLaw,
    best,
    enumerate_environment,
    frontier,
    portfolio_optimum,
)
from fenchel.exact.portfolio import LINEAR_REWARDS
from fenchel.exact.surrogates import in_double
from fenchel.exact.volatility import best_volatility, step_moments, step_total
from fenchel.objectives import AbstractObjective, Expectation, MeanVariance, RewardVolatility
from fenchel.policies import AbstractDiscrete, AbstractPolicy, make_policy
from fenchel.studies.scale import Scale
from fenchel.training.evaluate import in_threads, sample_returns
from fenchel.training.keys import streams

Array = np.ndarray[Any, Any]

UNIFORM_EPISODES = 1_000_000
"""Episodes that say what acting at random is worth where nothing exact does."""

FINE = 8
"""Points of a frontier's curve between two extreme policies."""

AT_ONCE = 25
"""Policies whose episodes are played side by side."""


class Worth(NamedTuple):
    """What each of some policies is worth, and the returns of all of them together."""

    mean: Float[Array, " n"]
    std: Float[Array, " n"]
    values: Float[Array, " E"]
    """Returns that occur."""
    chances: Float[Array, " E"]
    """Their probabilities, when one of the policies is drawn for an episode."""


Value = tuple[float, float, float]
"""Mean, standard deviation and objective of a policy."""

Curve = tuple[Array, Array]
"""Standard deviations and means."""


class Oracle(Protocol):
    """What a study asks of an environment."""

    exact: bool
    """Whether policies are evaluated exactly, or on fresh episodes."""
    env: AbstractEnvironment

    @abstractmethod
    def scale(self, objective: AbstractObjective) -> Scale:
        """The values between which policies are judged."""

    def worth(self, policies: Sequence[AbstractPolicy], episodes: int, seed: int = 0) -> Worth:
        """What policies of one kind are worth: from fresh episodes, the same noise for every policy."""
        return sampled_worth(self.env, policies, episodes, seed)

    def values(
        self, policies: Sequence[AbstractPolicy], goals: Sequence[AbstractObjective]
    ) -> list[Value] | None:
        """Mean, standard deviation and objective of policies of one kind; None where not known exactly."""
        return None

    def curve(self) -> Curve | None:
        """Standard deviation and mean along the best frontier there is; None where that is not known."""
        return None


def oracle_of(env: AbstractEnvironment, *, most_states: int = 1_000_000) -> Oracle:
    """The oracle of an environment; an `InputError` where nothing exact is known of it.

    Arguments:
        env: with the observation that the policies take.
        most_states: refuse a problem with more pairs of state and reward so far.
    """
    from fenchel.studies.analytic import AllocationOracle, ExecutionOracle

    inner = env
    while (within := getattr(inner, "env", None)) is not None:
        inner = within
    if isinstance(inner, Allocation):
        return AllocationOracle(env, inner)
    if isinstance(inner, Execution):
        return ExecutionOracle(env, inner)
    if isinstance(inner, Portfolio) and inner.reward in LINEAR_REWARDS and inner.discount == 1:
        return PortfolioOracle(env, inner)
    return FiniteOracle(env, enumerate_environment(env, most_states=most_states))


class FiniteOracle(Oracle):
    """A finite problem: everything is exact.

    >>> from fenchel.envs import make
    >>> oracle = oracle_of(make("option"))
    >>> round(oracle.scale(MeanVariance(1.0)).upper, 6)
    0.241988
    """

    exact = True

    def __init__(self, env: AbstractEnvironment, problem: FiniteProblem):
        self.env, self.problem = env, problem
        self._steps: dict[int, FiniteOracle] = {}

    @cached_property
    def evaluator(self) -> Evaluator:
        """Evaluates policies, in double precision."""
        with jax.enable_x64(True):
            return Evaluator.of(self.problem)

    @cached_property
    def frontier(self) -> Frontier:
        """All extreme points of mean and variance."""
        return frontier(self.problem)

    def optimum(self, objective: AbstractObjective) -> Optimum:
        """The certified optimum."""
        natural = objective.natural()
        if isinstance(natural, MeanVariance):
            return self.frontier.best(float(natural.risk_aversion))
        return best(self.problem, natural)

    def scale(self, objective: AbstractObjective) -> Scale:
        """Exact to rounding, and `upper` is proved."""
        if isinstance(objective, RewardVolatility):
            first = self.volatility(objective, self.uniform_moments)
            return Scale(float(first), *best_volatility(self.env, self.problem, objective))
        found, natural = self.optimum(objective), objective.natural()
        return Scale(self.uniform.law.value(natural), found.value, found.upper)

    def curve(self, fine: int = FINE) -> Curve:
        """Standard deviation and mean along the frontier, mixtures of its extreme policies included."""
        hull = self.frontier
        places = np.linspace(0, len(hull) - 1, fine * (len(hull) - 1) + 1)
        mean, second = (np.interp(places, np.arange(len(hull)), x) for x in (hull.mean, hull.second))
        std = np.sqrt(np.maximum(second - mean**2, 0))
        kept = mean >= mean[np.argmin(std)]
        return std[kept], mean[kept]

    @property
    def uniform(self) -> FinitePolicy:
        """The policy that draws every allowed action with the same probability."""
        rows = (layer.allowed / layer.allowed.sum(axis=1, keepdims=True) for layer in self.problem.layers)
        return FinitePolicy(self.problem, tuple(rows))

    def laws(self, policies: Sequence[AbstractPolicy]) -> Float[Array, "n E"]:
        """Probability of each of `problem.returns` under each policy."""
        arrays, static = _stacked(policies)
        with jax.enable_x64(True):
            return np.asarray(_laws(self.evaluator, in_double(arrays), static))

    def values(self, policies: Sequence[AbstractPolicy], goals: Sequence[AbstractObjective]) -> list[Value]:
        """From their laws."""
        laws = [ReturnLaw(self.problem.returns, law) for law in self.laws(policies)]
        if any(goal.per_step for goal in goals):
            moments = np.stack([self.step_oracle(order).means(policies) for order in (1, 2)], axis=-1)
            worths = [self.volatility(goal, row) for goal, row in zip(goals, moments, strict=True)]
        else:
            worths = [law.value(goal) for law, goal in zip(laws, goals, strict=True)]
        return [(law.mean, law.std, float(worth)) for law, worth in zip(laws, worths, strict=True)]

    def step_oracle(self, order: int) -> "FiniteOracle":
        """That of the same environment whose rewards are raised to a power, 1 or 2."""
        if order not in self._steps:
            self._steps[order] = FiniteOracle(self.env, step_moments(self.env, order))
        return self._steps[order]

    def volatility(self, objective: AbstractObjective, sums: Float[Array, " 2"]) -> float:
        """Mean-variance of the rewards of steps, from the expected sums of rewards and of their squares."""
        return float(objective.value(jnp.asarray(sums / step_total(self.env))[None]))

    @property
    def uniform_moments(self) -> Float[Array, " 2"]:
        """Those sums when acting at random."""
        return np.array([self.step_oracle(order).uniform.law.mean for order in (1, 2)])

    def means(self, policies: Sequence[AbstractPolicy]) -> Float[Array, " n"]:
        """The mean return of each."""
        return np.asarray(self.laws(policies) @ self.problem.returns)

    def worth(self, policies: Sequence[AbstractPolicy], episodes: int = 0, seed: int = 0) -> Worth:
        """Exact; no episode is played."""
        laws, returns = self.laws(policies), self.problem.returns
        mean = laws @ returns
        spread = np.einsum("ne,ne->n", laws, (returns - mean[:, None]) ** 2)
        return Worth(mean, np.sqrt(spread), returns, laws.mean(axis=0))


class PortfolioOracle(Oracle):
    """The portfolio: a proved bound, the best schedule of step and rate, policies on fresh episodes."""

    exact = False

    def __init__(self, env: AbstractEnvironment, portfolio: Portfolio):
        self.env, self.portfolio = env, portfolio
        self.uniform_episodes = UNIFORM_EPISODES

    def scale(self, objective: AbstractObjective) -> Scale:
        """`upper` is proved; `attained` is that of the best schedule found; `uniform` has been sampled."""
        natural = objective.natural()
        if not isinstance(natural, MeanVariance):
            remedy = "has no bound for the portfolio; mean-variance has one"
            raise InputError("objective", type(natural).__name__, remedy)
        found = self.best_schedule(float(natural.risk_aversion))
        return Scale(self.uniform_value(natural), found.value, found.upper)

    def best_schedule(self, risk_aversion: float, **search: int) -> PortfolioOptimum:
        """The best policy of step and rate that was found, and what no policy exceeds."""
        return portfolio_optimum(self.portfolio, risk_aversion, **search)

    def uniform_value(self, objective: AbstractObjective) -> float:
        """What acting at random is worth."""
        return float(objective.natural().value(jnp.asarray(self.uniform_returns)))

    @cached_property
    def uniform_returns(self) -> Array:
        """Returns under the policy that draws every action with the same probability."""
        policy = make_policy("linear", self.portfolio)
        return sample_returns(self.portfolio, policy, episodes=self.uniform_episodes).astype(float)


def sampled_worth(
    env: AbstractEnvironment, policies: Sequence[AbstractPolicy], episodes: int, seed: int = 0
) -> Worth:
    """What policies of one kind are worth on fresh episodes, the same noise for every policy."""
    returns = sampled_returns(env, policies, episodes, seed)
    pooled = np.sort(returns, axis=None)
    chances = np.full(pooled.size, 1 / pooled.size)
    return Worth(returns.mean(axis=1), returns.std(axis=1, ddof=1), pooled, chances)


def sampled_returns(
    env: AbstractEnvironment, policies: Sequence[AbstractPolicy], episodes: int, seed: int = 0
) -> Float[Array, "n m"]:
    """Returns of fresh episodes of each policy, from the stream that training never uses."""
    return sampled_outcomes(env, policies, Expectation(), episodes, seed)


def sampled_outcomes(
    env: AbstractEnvironment,
    policies: Sequence[AbstractPolicy],
    objective: AbstractObjective,
    episodes: int,
    seed: int = 0,
) -> Float[Array, "n m ..."]:
    """What an objective goes by, of the same episodes."""
    arrays, static = _stacked(policies)
    key = streams(seed).evaluation
    rows = jnp.arange(len(policies))
    parts = in_threads(lambda part: _play(env, arrays, static, key, part, episodes, objective.per_step), rows)
    return np.concatenate(parts).astype(float)


def _stacked(policies: Sequence[AbstractPolicy]) -> tuple[PyTree, PyTree]:
    split = [eqx.partition(policy, eqx.is_array) for policy in policies]
    arrays = jax.tree.map(lambda *x: np.stack(list(map(np.asarray, x))), *(arrays for arrays, _ in split))
    return arrays, split[0][1]


@eqx.filter_jit
def _laws(evaluator: Evaluator, arrays: PyTree, static: PyTree) -> Any:
    def law(one: PyTree) -> Any:
        policy: AbstractDiscrete = eqx.combine(one, static)
        return evaluator.law(policy)

    return jax.lax.map(law, arrays, batch_size=AT_ONCE)


@eqx.filter_jit
def _play(
    env: AbstractEnvironment,
    arrays: PyTree,
    static: PyTree,
    key: Any,
    rows: Any,
    episodes: int,
    per_step: bool,
) -> Any:
    def play(row: Any) -> Any:
        policy: AbstractPolicy = eqx.combine(jax.tree.map(lambda x: jnp.asarray(x)[row], arrays), static)
        played = rollout(env, policy, draw_rollout(key, env, policy, episodes))
        return played.step_moments if per_step else played.returns

    return jax.lax.map(play, rows)
