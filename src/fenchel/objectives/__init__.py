"""Objectives: what is asked of the returns."""

from fenchel.objectives.base import AbstractObjective
from fenchel.objectives.cvar import CVaR
from fenchel.objectives.entropic import Entropic
from fenchel.objectives.expectation import Expectation
from fenchel.objectives.mean_variance import FenchelMeanVariance, MeanVariance
from fenchel.objectives.registry import OBJECTIVES, make_objective, objective_fields

__all__ = [
    "OBJECTIVES",
    "AbstractObjective",
    "CVaR",
    "Entropic",
    "Expectation",
    "FenchelMeanVariance",
    "MeanVariance",
    "make_objective",
    "objective_fields",
]
