"""Objectives: what is asked of the returns."""

from fenchel.objectives.base import AbstractObjective
from fenchel.objectives.expectation import Expectation
from fenchel.objectives.mean_variance import FenchelMeanVariance, MeanVariance

OBJECTIVES: dict[str, type[AbstractObjective]] = {
    "expectation": Expectation,
    "mean-variance": MeanVariance,
    "fenchel-mean-variance": FenchelMeanVariance,
}

__all__ = ["OBJECTIVES", "AbstractObjective", "Expectation", "FenchelMeanVariance", "MeanVariance"]
