"""Where Gymnasium's environments come from: an id, a function that makes one, or one that a user made."""

import copy
import difflib
import functools
import importlib
import sys
from collections.abc import Callable
from typing import Any, NamedTuple, SupportsFloat

import gymnasium
from gymnasium.vector import VectorEnv

from fenchel.envs.gym_spaces import Space
from fenchel.errors import InputError, require

PREFIX = "gym:"
"""What a name begins with that is Gymnasium's."""

Factory = Callable[[], gymnasium.Env[Any, Any]]


class Probe(NamedTuple):
    """What an environment says of itself."""

    observations: Space
    actions: Space
    limit: int | None


class Given:
    """An environment that a user made: copies of it, or itself where it cannot be copied."""

    def __init__(self, env: gymnasium.Env[Any, Any]):
        self.env, self.alone = env, False
        try:
            copy.deepcopy(env)
        except Exception:  # whatever a foreign object raises that cannot be copied
            self.alone = True

    def __call__(self) -> gymnasium.Env[Any, Any]:
        """One to be played."""
        return _Kept(self.env) if self.alone else copy.deepcopy(self.env)


class _Kept(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Stays open: it is the user's."""

    def close(self) -> None:
        """Nothing."""


class Resting(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Stands still while nobody asks for what it does, for nothing; a reset wakes it."""

    resting = False
    _seen: Any = None

    def reset(self, **how: Any) -> tuple[Any, dict[str, Any]]:
        """Awake."""
        self.resting = False
        self._seen, info = self.env.reset(**how)
        return self._seen, info

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """A step, or none."""
        return (self._seen, 0.0, False, False, {}) if self.resting else self.env.step(action)


def resting(maker: Factory) -> Resting:
    """What the maker makes, that can rest."""
    return Resting(maker())


@functools.lru_cache(maxsize=128)
def probed(name: str, factory: Factory | None, options: tuple[tuple[str, Any], ...]) -> Probe:
    """What an environment says of itself; one is made for it, once."""
    env = gymnasium.make(registered(name), **dict(options)) if factory is None else factory()
    made = isinstance(env, gymnasium.Env)
    require(made, "env", name, f"must make an environment of Gymnasium, and made {type(env).__name__}")
    limit = None if env.spec is None else env.spec.max_episode_steps
    found = Probe(env.observation_space, env.action_space, limit)
    env.close()
    return found


def limited(factory: Factory, limit: int) -> gymnasium.Env[Any, Any]:
    """What the factory makes, cut off after so many steps."""
    return gymnasium.wrappers.TimeLimit(factory(), limit)


def source_of(source: Any) -> tuple[str, Factory | None]:
    """A name, and what makes the environment if not the name."""
    if isinstance(source, gymnasium.Env):
        return type(source.unwrapped).__name__, Given(source)
    if isinstance(source, str):
        name = source.removeprefix(PREFIX)
        module, _, _ = name.rpartition(":")
        try:
            importlib.import_module(module or "gymnasium")
        except ImportError as error:
            raise InputError("env", source, f"cannot be had: {error}") from None
        return registered(name), None
    remedy = "must be an environment, the name or the Gymnasium id of one, or a function that makes one"
    require(callable(source) and not isinstance(source, VectorEnv), "env", source, remedy)
    inner = source.func if isinstance(source, functools.partial) else source
    return str(getattr(inner, "__qualname__", type(inner).__name__)), source


def registered(name: str) -> str:
    """`name`, if Gymnasium knows it; a module that registers it is imported where the user says so only."""
    module, _, plain = name.rpartition(":")
    remedy = f"is registered by {module}, which a file may not import: import it first"
    require(not module or module in sys.modules, "env", f"{PREFIX}{name}", remedy)
    if plain not in gymnasium.registry:
        near = difflib.get_close_matches(plain, gymnasium.registry, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(repr(PREFIX + one) for one in near)}? " if near else ""
        remedy = f"{hint}Gymnasium knows no such id; name its module too where one registers it, {_MODULE}"
        raise InputError("env", f"{PREFIX}{name}", remedy)
    return name


_MODULE = f"as in {PREFIX}package:Name-v0"
