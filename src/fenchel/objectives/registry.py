"""Objectives by name."""

import dataclasses
from typing import Any

from fenchel.errors import require, require_choice
from fenchel.objectives.base import AbstractObjective
from fenchel.objectives.cvar import CVaR
from fenchel.objectives.entropic import Entropic
from fenchel.objectives.expectation import Expectation
from fenchel.objectives.gini import GiniDeviation
from fenchel.objectives.mean_variance import FenchelMeanVariance, MeanVariance
from fenchel.objectives.semivariance import MeanSemivariance
from fenchel.objectives.sharpe import Sharpe
from fenchel.objectives.variance_bound import VarianceBound
from fenchel.objectives.volatility import RewardVolatility

OBJECTIVES: dict[str, type[AbstractObjective]] = {
    "expectation": Expectation,
    "mean-variance": MeanVariance,
    "fenchel-mean-variance": FenchelMeanVariance,
    "cvar": CVaR,
    "entropic": Entropic,
    "semivariance": MeanSemivariance,
    "gini": GiniDeviation,
    "sharpe": Sharpe,
    "reward-volatility": RewardVolatility,
    "variance-bound": VarianceBound,
}


def make_objective(name: str, **fields: Any) -> AbstractObjective:
    """An objective by name; fields that are None keep their default, and one that it lacks is refused.

    >>> make_objective("cvar", level=0.25, risk_aversion=None)
    CVaR(level=0.25)
    """
    require_choice("objective", name, OBJECTIVES)
    cls = OBJECTIVES[name]
    given = {field: value for field, value in fields.items() if value is not None}
    for field, value in given.items():
        require(field in objective_fields(cls), field, value, f"has no effect on the objective {name}")
    return cls(**given)


def objective_fields(cls: type[AbstractObjective]) -> tuple[str, ...]:
    """The numbers that can be said about an objective."""
    return tuple(field.name for field in dataclasses.fields(cls))
