"""Environments by name."""

from typing import Any

from fenchel.envs.allocation import Allocation
from fenchel.envs.base import AbstractEnvironment
from fenchel.envs.execution import Execution
from fenchel.envs.observe import ObserveIndex, ObserveReturn
from fenchel.envs.option import AmericanOption
from fenchel.envs.parameters import parameters
from fenchel.envs.portfolio import Portfolio
from fenchel.envs.stopping import OptimalStopping
from fenchel.errors import require_choice

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
        name: one of `ENVIRONMENTS`.
        preset: citation whose numbers to take; None is the defaults, which are those of the first.
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
    env = cls(**{**cls.PRESETS[preset or next(iter(cls.PRESETS))], **fields})
    return _observed(env, observe)


def _observed(env: AbstractEnvironment, observe: str) -> AbstractEnvironment:
    if observe == "return":
        return ObserveReturn(env)
    return ObserveIndex(env) if observe == "index" else env
