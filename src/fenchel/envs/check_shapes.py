"""The half of the environment checker that runs nothing: containers, shapes and types."""

from collections.abc import Callable
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from fenchel.envs.base import AbstractEnvironment, TimeStep
from fenchel.errors import InputError, require


def check_shapes(env: AbstractEnvironment, reset: PyTree, step: PyTree, action: jax.Array) -> None:
    """Raise unless what `reset` and `step` return fits the contract, the spaces, and each other."""
    first = _shapes("reset", env.reset, reset)
    pair = isinstance(first, tuple) and len(first) == 2
    require(pair, "reset", type(first).__name__, "must return (state, observation)")
    state, observation = first
    then = _shapes("step", env.step, step, state, action)
    pair = isinstance(then, tuple) and len(then) == 2 and isinstance(then[1], TimeStep)
    require(pair, "step", type(then).__name__, "must return (state, TimeStep)")
    after, seen = then
    _check_alike("state", after, state)
    _check_alike("observation", seen.observation, observation)
    _check_observation(env, observation)
    _check_scalar("reward", seen.reward, jnp.floating)
    _check_scalar("terminated", seen.terminated, jnp.bool_)
    _check_scalar("truncated", seen.truncated, jnp.bool_)
    if env.state_count is not None:
        _check_scalar("index", _shapes("index", env.index, state), jnp.integer)


def _shapes(name: str, function: Callable[..., Any], *arguments: PyTree) -> Any:
    try:
        return jax.eval_shape(function, *arguments)
    except (jax.errors.JAXTypeError, jax.errors.JAXIndexError) as error:
        reason = str(error).split("\n", maxsplit=1)[0]
        remedy = f"must be traceable: jnp.where instead of if, jnp instead of numpy ({reason})"
        raise InputError(name, type(error).__name__, remedy) from error


def _check_alike(name: str, after: PyTree, before: PyTree) -> None:
    """The same containers, shapes and types after a step as after the reset, or no scan can carry them."""
    found, wanted = str(jax.tree.structure(after)), str(jax.tree.structure(before))
    require(found == wanted, name, found, f"step must keep the structure of reset, {wanted}")
    paths = jax.tree_util.tree_leaves_with_path(before)
    for (path, old), new in zip(paths, jax.tree.leaves(after), strict=True):
        field = name + jax.tree_util.keystr(path)
        remedy = f"step must keep the shape and dtype of reset, {_describe(old)}"
        require((new.shape, new.dtype) == (old.shape, old.dtype), field, _describe(new), remedy)


def _check_observation(env: AbstractEnvironment, observation: Any) -> None:
    space = env.observation_space
    single = isinstance(observation, jax.ShapeDtypeStruct)
    require(single, "observation", type(observation).__name__, "must be one array")
    remedy = f"must have the shape of observation_space, {space.shape}"
    require(observation.shape == space.shape, "observation", _describe(observation), remedy)
    if isinstance(space, gymnasium.spaces.Box):
        kind = jnp.floating if np.issubdtype(space.dtype, np.floating) else jnp.integer
        remedy = f"must have numbers of the kind of observation_space, {space.dtype}"
        require(jnp.issubdtype(observation.dtype, kind), "observation", _describe(observation), remedy)
    else:
        integer = jnp.issubdtype(observation.dtype, jnp.integer)
        require(integer, "observation", _describe(observation), f"must be an integer to lie in {space}")


def _check_scalar(name: str, found: Any, kind: Any) -> None:
    scalar = isinstance(found, jax.ShapeDtypeStruct) and found.shape == ()
    right = scalar and jnp.issubdtype(found.dtype, kind)
    require(right, name, _describe(found), f"must be a scalar array of kind {kind.__name__}")


def _describe(found: Any) -> str:
    return f"{found.dtype}{list(found.shape)}" if hasattr(found, "dtype") else type(found).__name__
