"""Objectives: what is asked of the returns."""

from fenchel.objectives.base import AbstractObjective, AbstractSurrogate
from fenchel.objectives.custom import Surrogate
from fenchel.objectives.cvar import CVaR
from fenchel.objectives.entropic import Entropic
from fenchel.objectives.expectation import Expectation
from fenchel.objectives.gini import GiniDeviation
from fenchel.objectives.mean_variance import FenchelMeanVariance, MeanVariance
from fenchel.objectives.registry import OBJECTIVES, make_objective, objective_fields
from fenchel.objectives.semivariance import MeanSemivariance
from fenchel.objectives.sharpe import Sharpe, SharpeRatio
from fenchel.objectives.statistic import AbstractStatistic
from fenchel.objectives.variance_bound import VarianceBound
from fenchel.objectives.volatility import RewardVolatility

__all__ = [
    "OBJECTIVES",
    "AbstractObjective",
    "AbstractStatistic",
    "AbstractSurrogate",
    "CVaR",
    "Entropic",
    "Expectation",
    "FenchelMeanVariance",
    "GiniDeviation",
    "MeanSemivariance",
    "MeanVariance",
    "RewardVolatility",
    "Sharpe",
    "SharpeRatio",
    "Surrogate",
    "VarianceBound",
    "make_objective",
    "objective_fields",
]
