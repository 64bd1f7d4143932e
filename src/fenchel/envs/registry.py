"""Environments by name."""

from typing import Any

import gymnasium
from gymnasium.spaces import Discrete

from fenchel.envs.allocation import Allocation
from fenchel.envs.base import AbstractEnvironment
from fenchel.envs.execution import Execution
from fenchel.envs.gym import GymnasiumEnvironment
from fenchel.envs.gym_sources import PREFIX
from fenchel.envs.observe import ObserveIndex, ObserveReturn
from fenchel.envs.option import AmericanOption
from fenchel.envs.parameters import parameters
from fenchel.envs.portfolio import Portfolio
from fenchel.envs.stopping import OptimalStopping
from fenchel.errors import require, require_choice

Named = type[AmericanOption] | type[OptimalStopping] | type[Portfolio] | type[Allocation] | type[Execution]

ENVIRONMENTS: dict[str, Named] = {
    "option": AmericanOption,
    "stopping": OptimalStopping,
    "portfolio": Portfolio,
    "allocation": Allocation,
    "execution": Execution,
}

OBSERVATIONS = ("state", "return", "index")


def make(name: str, preset: str | None = None, observe: str = "state", **fields: Any) -> AbstractEnvironment:
    """An environment by name.

    Arguments:
        name: one of `ENVIRONMENTS`, or an id of Gymnasium's such as "gym:CartPole-v1".
        preset: citation whose numbers to take; None is the defaults, which are those of the first.
        observe: "state" for the raw state, "return" with reward so far and step appended, "index" for the
            number of a finite state.
        fields: parameters that differ from the preset.

    Example:
        >>> from fenchel.envs import make
        >>> make("stopping", "chow2018", horizon=5).discount
        0.95
    """
    if is_gymnasium(name):
        require(preset is None, "preset", preset, "is for environments of fenchel's own")
        for field in fields:
            require_choice("field", field, [*parameters(GymnasiumEnvironment), "options"])
        return _gymnasium(name, observe, fields)
    require_choice("name", name, ENVIRONMENTS)
    require_choice("observe", observe, OBSERVATIONS)
    cls = ENVIRONMENTS[name]
    if preset is not None:
        require_choice("preset", preset, cls.PRESETS)
    for field in fields:
        require_choice("field", field, parameters(cls))
    env = cls(**{**cls.PRESETS[preset or next(iter(cls.PRESETS))], **fields})
    return observed(env, observe)


def _gymnasium(name: str, observe: str, fields: dict[str, Any]) -> GymnasiumEnvironment:
    """An environment of Gymnasium's; one that observes an index shows it anyway."""
    require_choice("observe", observe, OBSERVATIONS)
    env = GymnasiumEnvironment(name, observe="state" if observe == "index" else observe, **fields)
    index = isinstance(env.observation_space, Discrete)
    remedy = "needs Discrete observations; leave it out, and take a linear or mlp policy"
    require(observe != "index" or index, "observe", observe, remedy)
    return env


def is_gymnasium(source: object) -> bool:
    """Whether an environment is Gymnasium's: a name that begins with gym: or is an id, or what makes one.

    >>> is_gymnasium("gym:anything"), is_gymnasium("CartPole-v1"), is_gymnasium("option")
    (True, True, False)
    """
    if isinstance(source, str):
        known = source in gymnasium.registry and source not in ENVIRONMENTS
        return source.startswith(PREFIX) or known
    if isinstance(source, type):
        return issubclass(source, gymnasium.Env)
    made = isinstance(source, gymnasium.Env) or callable(source)
    return made and not isinstance(source, AbstractEnvironment)


def observed(env: AbstractEnvironment, observe: str) -> AbstractEnvironment:
    """The environment as one of `OBSERVATIONS` shows it."""
    require_choice("observe", observe, OBSERVATIONS)
    if observe == "return":
        return ObserveReturn(env)
    return ObserveIndex(env) if observe == "index" else env
