"""fenchel: risk-averse sequential decisions by block coordinate ascent on a dual objective.

Names are loaded when they are first used, so that `import fenchel` and `fenchel --help` stay quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fenchel.errors import FenchelError, InputError, StorageError

if TYPE_CHECKING:
    from fenchel.ascent import bca, bsg, mvp, pg, rcpg, sbmd, sga, tamar
    from fenchel.envs import AbstractEnvironment, check_env, make
    from fenchel.objectives import CVaR, Entropic, Expectation, FenchelMeanVariance, MeanVariance
    from fenchel.policies import AbstractPolicy, make_policy
    from fenchel.studies import Frontier, frontier
    from fenchel.training import (
        Evaluation,
        Interrupted,
        Settings,
        SweepResult,
        TrainResult,
        evaluate,
        load,
        sample_returns,
        sweep,
        train,
    )

__version__ = "0.1.0"

_ROOMS = {
    "ascent": ("bca", "bsg", "mvp", "pg", "rcpg", "sbmd", "sga", "tamar"),
    "envs": ("AbstractEnvironment", "check_env", "make"),
    "objectives": ("CVaR", "Entropic", "Expectation", "FenchelMeanVariance", "MeanVariance"),
    "policies": ("AbstractPolicy", "make_policy"),
    "studies": ("Frontier", "frontier"),
    "training": (
        "Evaluation",
        "Interrupted",
        "Settings",
        "SweepResult",
        "TrainResult",
        "evaluate",
        "load",
        "sample_returns",
        "sweep",
        "train",
    ),
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names}
_MODULES = (*_ROOMS, "estimators", "exact", "gymnasium", "theory", "studies", "errors", "noise")

__all__ = [
    "AbstractEnvironment",
    "AbstractPolicy",
    "CVaR",
    "Entropic",
    "Evaluation",
    "Expectation",
    "FenchelError",
    "FenchelMeanVariance",
    "Frontier",
    "InputError",
    "Interrupted",
    "MeanVariance",
    "Settings",
    "StorageError",
    "SweepResult",
    "TrainResult",
    "bca",
    "bsg",
    "check_env",
    "evaluate",
    "frontier",
    "load",
    "make",
    "make_policy",
    "mvp",
    "pg",
    "rcpg",
    "sample_returns",
    "sbmd",
    "sga",
    "sweep",
    "tamar",
    "train",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"fenchel.{name}")
    if name in _HOME:
        return getattr(import_module(f"fenchel.{_HOME[name]}"), name)
    raise AttributeError(f"module 'fenchel' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES, "__version__"})
