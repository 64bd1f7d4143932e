"""Names of fenchel's environments in Gymnasium's registry, and what is made of them."""

from typing import Any

import gymnasium

from fenchel.envs import ENVIRONMENTS, AbstractEnvironment, make
from fenchel.errors import InputError, require

VERSION = "v0"

EXPORTED = ("option", "stopping", "portfolio")
"""Names of the environments that are registered."""


def register_all() -> None:
    """Register what has no earlier registration, as `fenchel/ITS-CLASS-v0`.

    Those with derivatives have no bounds on their actions, and nobody asks other trainers about them.

    >>> register_all()
    >>> gymnasium.make("fenchel/OptimalStopping-v0", preset="tradeoff", horizon=5).unwrapped.env.horizon
    5
    """
    for name in EXPORTED:
        cls = ENVIRONMENTS[name]
        known = f"fenchel/{cls.__name__}-{VERSION}"
        if known not in gymnasium.registry:
            gymnasium.register(
                known,
                entry_point="fenchel.gymnasium:ExportedEnv",
                vector_entry_point="fenchel.gymnasium:ExportedVectorEnv",
                kwargs={"env": name},
            )


def chosen(env: AbstractEnvironment | str, said: dict[str, Any]) -> AbstractEnvironment:
    """The environment itself, or one by its name with preset, observation and fields."""
    if isinstance(env, str):
        return make(env, **said)
    if not isinstance(env, AbstractEnvironment):
        raise InputError("env", env, "must be an environment of fenchel, or the name of one")
    require(not said, ", ".join(said), tuple(said.values()), "belongs to the name of an environment")
    return env
