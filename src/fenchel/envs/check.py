"""A checker of the environment contract, for any environment: uniform noise or keys, any array action."""

from collections.abc import Callable
from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.vector.utils import batch_space
from jaxtyping import PyTree

from fenchel.envs.base import AbstractEnvironment, TimeStep
from fenchel.envs.check_shapes import check_shapes
from fenchel.errors import require, require_count, require_number

_COMPARED = 3
"""Steps at which plain, compiled and batched calls are compared."""


class _Draws(NamedTuple):
    reset: PyTree
    step: PyTree
    actions: Any


def check_env(env: AbstractEnvironment, *, episodes: int = 16, seed: int = 0) -> None:
    """Raise `InputError` at the first part of the contract that `env` breaks.

    Episodes are played with random actions. Checked are horizon and discount; shapes and types of noise,
    state, observation, reward and ends; that `reset` and `step` depend on nothing but their arguments and
    answer alike when called plainly, compiled and batched; that rewards are finite, observations and state
    numbers in range, and that every episode ends within the horizon, by termination or by truncation.

    Arguments:
        env: the environment.
        episodes: how many to play.
        seed: of the noise and the actions.

    Example:
        >>> from fenchel.envs import Portfolio, check_env
        >>> check_env(Portfolio(horizon=10))
    """
    require_count("episodes", episodes)
    _check_constants(env)
    draws = _draw(env, episodes, seed)
    check_shapes(env, _row(draws.reset, 0), _row(_row(draws.step, 0), 0), draws.actions[0, 0])
    _check_agreement(env, draws)
    _check_played(env, *_play(env, draws))


def _check_constants(env: AbstractEnvironment) -> None:
    require_count("horizon", env.horizon)
    discount = require_number("discount", env.discount)
    require(0 < discount <= 1, "discount", env.discount, "must be above 0 and at most 1")
    for name in ("observation_space", "action_space"):
        space = getattr(env, name)
        array_like = isinstance(space, gymnasium.Space) and space.shape is not None
        require(array_like, name, space, "must be a gymnasium space of arrays, such as Box or Discrete")
    if env.state_count is not None:
        require_count("state_count", env.state_count)


def _draw(env: AbstractEnvironment, episodes: int, seed: int) -> _Draws:
    reset_key, step_key = jax.random.split(jax.random.key(seed))
    reset, step = env.draw(reset_key, (episodes,)), env.draw(step_key, (env.horizon, episodes))
    for noise, shape in ((reset, (episodes,)), (step, (env.horizon, episodes))):
        shapes = [jnp.shape(leaf) for leaf in jax.tree.leaves(noise)]
        leading = all(found[: len(shape)] == shape for found in shapes)
        require(leading, "draw", shapes, f"draw(key, {shape}) must return arrays of leading shape {shape}")
    return _Draws(reset, step, _actions(env, episodes, seed))


def _actions(env: AbstractEnvironment, episodes: int, seed: int) -> jax.Array:
    """Random actions in the types that policies answer in: int32, or JAX's float."""
    space = batch_space(env.action_space, env.horizon * episodes)
    space.seed(seed)
    sample = np.asarray(space.sample())
    dtype = jnp.result_type(float) if np.issubdtype(sample.dtype, np.floating) else np.dtype(np.int32)
    shape = (env.horizon, episodes, *(env.action_space.shape or ()))
    return jnp.asarray(sample.astype(dtype)).reshape(shape)


def _check_agreement(env: AbstractEnvironment, draws: _Draws) -> None:
    states = _Calls("reset", env.reset).agree(draws.reset)[0]
    step = _Calls("step", env.step)
    for now in range(min(_COMPARED, env.horizon)):
        states, seen = step.agree(_row(draws.step, now), states, draws.actions[now])
        if bool(seen.terminated[0] | seen.truncated[0]):
            return


class _Calls:
    """One function, called plainly, compiled, and compiled for a batch."""

    def __init__(self, name: str, function: Callable[..., Any]):
        def call(*arguments: PyTree) -> Any:
            return function(*arguments)

        self.name, self.plain = name, call
        self.compiled, self.batched = jax.jit(call), jax.jit(jax.vmap(call))

    def agree(self, *batch: PyTree) -> Any:
        """What it answers to a batch, once the first row is known to agree with single calls."""
        single = _row(batch, 0)
        answer, answers = self.plain(*single), self.batched(*batch)
        again, compiled, row = self.plain(*single), self.compiled(*single), _row(answers, 0)
        _check_same(self.name, again, answer, "must depend on nothing but its arguments: two calls differ")
        _check_same(self.name, compiled, answer, "must answer alike under jax.jit")
        _check_same(self.name, row, answer, "must answer alike under jax.vmap")
        return answers


def _check_same(name: str, found: PyTree, wanted: PyTree, remedy: str) -> None:
    paths = jax.tree_util.tree_leaves_with_path(found)
    for (path, left), right in zip(paths, jax.tree.leaves(wanted), strict=True):
        one, other = _numbers(left), _numbers(right)
        close = one.shape == other.shape and _close(one, other)
        require(close, name + jax.tree_util.keystr(path), one.tolist(), f"{remedy} ({other.tolist()})")


def _numbers(leaf: Any) -> np.ndarray[Any, Any]:
    is_key = jnp.issubdtype(jnp.result_type(leaf), jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(leaf) if is_key else leaf)


def _close(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
    """Equal up to half the digits, for compilers may reorder sums; whole numbers and keys exactly."""
    if not np.issubdtype(one.dtype, np.floating):
        return np.array_equal(one, other)
    slack = float(np.sqrt(np.finfo(one.dtype).eps))
    return np.allclose(one, other, rtol=slack, atol=slack, equal_nan=True)


def _play(env: AbstractEnvironment, draws: _Draws) -> tuple[Any, TimeStep, Any]:
    """First observations, all that was seen, and the numbers of the states decided in."""

    def advance(states: PyTree, now: tuple[PyTree, PyTree]) -> tuple[PyTree, Any]:
        noise, actions = now
        indices = None if env.state_count is None else jax.vmap(env.index)(states)
        states, seen = jax.vmap(env.step)(noise, states, actions)
        return states, (seen, indices)

    def play(draws: _Draws) -> tuple[Any, TimeStep, Any]:
        states, first = jax.vmap(env.reset)(draws.reset)
        _, (seen, indices) = jax.lax.scan(advance, states, (draws.step, draws.actions))
        return first, seen, indices

    played: tuple[Any, TimeStep, Any] = jax.tree.map(np.asarray, jax.jit(play)(draws))
    return played


def _check_played(env: AbstractEnvironment, first: Any, seen: TimeStep, indices: Any) -> None:
    over = seen.terminated | seen.truncated
    alive = np.cumsum(over, axis=0) - over == 0
    _check_inside(env.observation_space, first)
    _check_inside(env.observation_space, seen.observation[alive])
    rewards = np.asarray(seen.reward)[alive]
    wrong = rewards[~np.isfinite(rewards)].tolist()
    require(not wrong, "reward", wrong[:1], "must be finite")
    if indices is not None:
        outside = indices[alive & ((indices < 0) | (indices >= env.state_count))].tolist()
        require(not outside, "index", outside[:1], f"must be from 0 to state_count − 1 = {env.state_count}")
    ends = bool(np.all(np.any(over, axis=0)))
    require(ends, "horizon", env.horizon, "an episode went on past it: set truncated at its last step")


def _check_inside(space: gymnasium.Space[Any], observations: Any) -> None:
    """Of the same kind of number is enough: precision is JAX's to choose."""
    for observation in observations:
        inside = bool(np.all(np.isfinite(observation))) and space.contains(observation.astype(space.dtype))
        require(inside, "observation", observation.tolist(), f"must be finite and lie in {space}")


def _row(tree: PyTree, row: int) -> PyTree:
    return jax.tree.map(lambda leaf: leaf[row], tree)
