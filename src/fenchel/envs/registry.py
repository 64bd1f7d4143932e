"""Environments by name."""

from typing import Any

from fenchel.envs.base import AbstractEnvironment
from fenchel.envs.observe import ObserveIndex, ObserveReturn
from fenchel.envs.option import AmericanOption
from fenchel.envs.parameters import parameters
from fenchel.envs.portfolio import Portfolio
from fenchel.envs.stopping import OptimalStopping
from fenchel.errors import require_choice

ENVIRONMENTS: dict[str, type[AmericanOption] | type[OptimalStopping] | type[Portfolio]] = {
    "option": AmericanOption,
    "stopping": OptimalStopping,
    "portfolio": Portfolio,
}

OBSERVATIONS = ("state", "return", "index")


def make(name: str, preset: str | None = None, observe: str = "state", **fields: Any) -> AbstractEnvironment:
    """An environment by name.

    Arguments:
        name: one of `ENVIRONMENTS`.
        preset: citation whose numbers to take; None is the defaults, which are those of `liu2018`.
        observe: "state" for the raw state, "return" with reward so far and step appended, "index" for the
            number of a finite state.
        fields: parameters that differ from the preset.

    Example:
        >>> from fenchel.envs import make
        >>> make("stopping", "chow2018", horizon=5).discount
        0.95
    """
    require_choice("name", name, ENVIRONMENTS)
    require_choice("observe", observe, OBSERVATIONS)
    cls = ENVIRONMENTS[name]
    if preset is not None:
        require_choice("preset", preset, cls.PRESETS)
    for field in fields:
        require_choice("field", field, parameters(cls))
    env = cls(**{**cls.PRESETS[preset or "liu2018"], **fields})
    return observed(env, observe)


def observed(env: AbstractEnvironment, observe: str) -> AbstractEnvironment:
    """The environment as one of `OBSERVATIONS` shows it."""
    require_choice("observe", observe, OBSERVATIONS)
    if observe == "return":
        return ObserveReturn(env)
    return ObserveIndex(env) if observe == "index" else env
