"""Estimators: how episodes are sampled and gradients obtained."""

from fenchel.estimators.base import AbstractEstimator
from fenchel.estimators.episodes import Episodes, RolloutNoise, draw_rollout, rollout
from fenchel.estimators.pathwise import Pathwise, TracedEpisodes
from fenchel.estimators.score import CONTROL_VARIATES, ScoreFunction, weighted_score
from fenchel.estimators.storm import Storm

__all__ = [
    "CONTROL_VARIATES",
    "AbstractEstimator",
    "Episodes",
    "Pathwise",
    "RolloutNoise",
    "ScoreFunction",
    "Storm",
    "TracedEpisodes",
    "draw_rollout",
    "rollout",
    "weighted_score",
]
