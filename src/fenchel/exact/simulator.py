"""Environments as finite problems: every outcome of chance is tried in every state that can be reached."""

import math
from typing import Any

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from fenchel.envs.base import AbstractEnvironment, Outcomes
from fenchel.envs.registry import make
from fenchel.errors import InputError, require, require_count
from fenchel.exact.problem import Array, FiniteProblem
from fenchel.exact.unfold import MOST_STATES, Fan, Nodes, unfold

START_POINTS = 32
"""First states that stand for an interval of them."""

LEAST_ROWS = 64
"""States are stepped by powers of two from here on, so that few programs are compiled."""


def enumerate_environment(
    env: AbstractEnvironment, *, most_states: int = MOST_STATES, start_points: int = START_POINTS
) -> FiniteProblem:
    """The finite problem that an environment with discrete randomness is.

    Arguments:
        env: an environment with finitely many actions that lists its `outcomes`.
        most_states: refuse a problem with more (state, reward so far) pairs than this.
        start_points: equally likely first states that stand for a continuous start.

    >>> from fenchel.envs import make
    >>> problem = enumerate_environment(make("option"))
    >>> problem.horizon, problem.size, problem.actions
    (20, 210, 2)
    """
    require_count("most_states", most_states)
    require_count("start_points", start_points)
    with jax.enable_x64(True):
        return unfold(_Simulator(env, start_points), most_states)


ProblemLike = FiniteProblem | AbstractEnvironment | str
"""A problem, an environment that can be made one, or the name of one."""


def as_problem(problem: ProblemLike) -> FiniteProblem:
    """The finite problem that is meant."""
    if isinstance(problem, FiniteProblem):
        return problem
    env = make(problem) if isinstance(problem, str) else problem
    remedy = "must be a FiniteProblem, an environment or the name of one"
    require(isinstance(env, AbstractEnvironment), "problem", type(env).__name__, remedy)
    return enumerate_environment(env)


class _Simulator:
    """Steps an environment from many states at once; a node's content is (state, observation)."""

    def __init__(self, env: AbstractEnvironment, start_points: int):
        if not isinstance(env.action_space, gymnasium.spaces.Discrete):
            raise InputError(
                "action_space", env.action_space, "must be Discrete for the problem to be finite"
            )
        self.env, self.name = env, type(env).__name__
        self.actions = int(env.action_space.n)
        self.world = _finite(env, env.outcomes())
        self.starts = _finite(env, env.first_outcomes(start_points))
        fewest = _finite(env, env.first_outcomes(1))
        self.start_points = start_points if len(self.starts.probability) > len(fewest.probability) else None

    def first(self) -> tuple[Array, Nodes]:
        """What `reset` can give."""
        content = jax.tree.map(np.asarray, _reset_all(self.env, self.starts.noise))
        return self.starts.probability, Nodes(content, np.zeros(len(self.starts.probability)))

    def fan(self, nodes: Nodes, step: int) -> Fan:
        """All actions and outcomes in all states."""
        count, outcomes = len(nodes.so_far), len(self.world.probability)
        states = jax.tree.map(lambda x: _padded(x, _room(count)), nodes.content[0])
        found = _step_all(self.env, states, jnp.arange(self.actions), self.world.noise)
        branches = count * self.actions * outcomes
        after, seen = jax.tree.map(lambda x: np.asarray(x)[:count].reshape(branches, *x.shape[3:]), found)
        earned = self.env.discount**step * np.asarray(seen.reward, np.float64)
        so_far = np.repeat(nodes.so_far, self.actions * outcomes) + earned
        return Fan(
            row=np.repeat(np.arange(count * self.actions), outcomes),
            chance=np.tile(self.world.probability, count * self.actions),
            ended=seen.terminated | seen.truncated | (step + 1 >= self.env.horizon),
            nodes=Nodes((after, seen.observation), so_far),
        )

    def keys(self, nodes: Nodes) -> list[Array]:
        """The numbers of the state that vary."""
        leaves = [
            leaf.reshape(len(leaf), math.prod(leaf.shape[1:])) for leaf in jax.tree.leaves(nodes.content[0])
        ]
        return [column for leaf in leaves for column in leaf.T if np.any(column != column[:1])]

    def about(self, nodes: Nodes, step: int) -> dict[str, Any]:
        """Every action is allowed; states are numbered as the environment does it, or in order."""
        count = len(nodes.so_far)
        if self.env.state_count is None:
            numbers = np.arange(count)
        else:
            states = jax.tree.map(lambda x: _padded(x, _room(count)), nodes.content[0])
            numbers = np.asarray(_index_all(self.env, states))[:count]
        allowed = np.ones((count, self.actions), bool)
        return {"allowed": allowed, "states": numbers, "observations": nodes.content[1]}


def _finite(env: AbstractEnvironment, outcomes: Outcomes | None) -> Outcomes:
    if outcomes is None:
        remedy = (
            "does not list what chance can do, so it cannot be enumerated: give it finitely many `outcomes` "
        )
        raise InputError("env", type(env).__name__, f"{remedy}and `first_outcomes`, or use finite_problem")
    return outcomes


@eqx.filter_jit
def _reset_all(env: AbstractEnvironment, noise: PyTree) -> Any:
    return jax.vmap(env.reset)(noise)


@eqx.filter_jit
def _step_all(env: AbstractEnvironment, states: PyTree, actions: Any, noise: PyTree) -> Any:
    """What follows each state (first axis), action (second) and outcome (third)."""
    over_noise = jax.vmap(env.step, (0, None, None))
    over_actions = jax.vmap(over_noise, (None, None, 0))
    return jax.vmap(over_actions, (None, 0, None))(noise, states, actions)


@eqx.filter_jit
def _index_all(env: AbstractEnvironment, states: PyTree) -> Any:
    return jax.vmap(env.index)(states)


def _room(count: int) -> int:
    return max(LEAST_ROWS, 1 << (count - 1).bit_length())


def _padded(leaf: Array, size: int) -> Array:
    """More rows, copies of the first."""
    return np.concatenate([leaf, np.repeat(leaf[:1], size - len(leaf), axis=0)])
