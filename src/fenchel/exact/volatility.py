"""Mean-variance of the rewards of single steps: exact values of policies, and bounds on what any attains."""

from typing import Any, final

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Num, PyTree

from fenchel.envs.base import AbstractEnvironment, TimeStep
from fenchel.envs.observe import AbstractObserver
from fenchel.exact.backward import best_values, rounding
from fenchel.exact.problem import FiniteProblem
from fenchel.exact.simulator import enumerate_environment
from fenchel.objectives import RewardVolatility

TOLERANCE = 1e-7
"""Gap at which the search ends, relative to the value."""

MOST_DUALS = 200
"""Duals that the search looks at."""


@final
class StepReward(AbstractObserver):
    """The environment with the reward a r + b r²."""

    env: AbstractEnvironment
    linear: Array
    square: Array

    def __init__(self, env: AbstractEnvironment, linear: Array, square: Array):
        self.env, self.linear, self.square = env, linear, square

    @property
    def observation_space(self) -> gymnasium.Space[Any]:
        """That of the inner environment."""
        return self.env.observation_space

    def index(self, state: PyTree) -> Int[Array, ""]:
        """That of the inner environment."""
        return self.env.index(state)

    def reset(self, noise: PyTree) -> tuple[PyTree, Num[Array, "..."]]:
        """That of the inner environment."""
        return self.env.reset(noise)

    def step(self, noise: PyTree, state: PyTree, action: Num[Array, "..."]) -> tuple[PyTree, TimeStep]:
        """With the other reward."""
        state, seen = self.env.step(noise, state, action)
        return state, seen._replace(reward=self.linear * seen.reward + self.square * seen.reward**2)


def step_total(env: AbstractEnvironment) -> float:
    """What the weights of all steps add up to before they are made one."""
    return float(np.sum(env.discount ** np.arange(env.horizon)))


def best_volatility(
    env: AbstractEnvironment, problem: FiniteProblem, objective: RewardVolatility
) -> tuple[float, float]:
    """A value that some policy attains, and what no policy exceeds.

    For a dual y the best policy is that of the reward r − λr² + 2λyr, and its value h(y) is convex in y, as
    the greatest of lines. The problem is max h(y) − λy². So on an interval the chord of h is a bound, and
    where chord minus λy² is greatest, h is looked at next.

    Arguments:
        env: the environment.
        problem: the same with its own reward, enumerated.
        objective: its λ.
    """
    aversion, total = float(objective.risk_aversion), step_total(env)
    low, high = float(problem.returns[0]) / total, float(problem.returns[-1]) / total
    duals = [low, high] if high > low else [low]
    values = [_best_at(env, aversion, y) / total for y in duals]
    while True:
        attained = max(h - aversion * y**2 for y, h in zip(duals, values, strict=True))
        tops = [_top(aversion, *ends) for ends in zip(duals, values, duals[1:], values[1:], strict=False)]
        place = int(np.argmax([top for _, top in tops])) if tops else 0
        upper = max(attained, tops[place][1] if tops else attained)
        if upper - attained <= TOLERANCE * abs(attained) or len(duals) >= MOST_DUALS:
            return attained, upper
        duals.insert(place + 1, tops[place][0])
        values.insert(place + 1, _best_at(env, aversion, tops[place][0]) / total)


def step_moments(env: AbstractEnvironment, order: int) -> FiniteProblem:
    """The problem whose return is the sum of the rewards to this power, 1 or 2."""
    return _enumerated(env, float(order == 1), float(order == 2))


def _best_at(env: AbstractEnvironment, aversion: float, dual: float) -> float:
    """The best value of the reward at a dual, with what rounding may have taken."""
    problem = _enumerated(env, 1 + 2 * aversion * dual, -aversion)
    table = (problem.returns + 2 * rounding(problem) * np.abs(problem.returns))[:, None]
    return float(best_values(problem, lambda _: table, np.zeros(1))[0])


def _enumerated(env: AbstractEnvironment, linear: float, square: float) -> FiniteProblem:
    with jax.enable_x64(True):  # as arrays, so that one program serves all of them
        return enumerate_environment(StepReward(env, jnp.asarray(linear), jnp.asarray(square)))


def _top(aversion: float, y0: float, h0: float, y1: float, h1: float) -> tuple[float, float]:
    """Where a chord minus λy² is greatest, strictly inside, and how great."""
    slope = (h1 - h0) / (y1 - y0)
    margin = 1e-3 * (y1 - y0)
    free = slope / (2 * aversion)
    best = min(max(free, y0), y1)
    inside = min(max(free, y0 + margin), y1 - margin)
    return inside, h0 + slope * (best - y0) - aversion * best**2
