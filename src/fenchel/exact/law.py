"""The exact distribution of a return, and everything that can be read off it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from fenchel.errors import require, require_positive
from fenchel.exact.problem import Array
from fenchel.exact.surrogates import best_dual, require_surrogate, statistic, surrogates
from fenchel.objectives.base import AbstractObjective
from fenchel.objectives.statistic import AbstractStatistic

NEGLIGIBLE = 1e-12
"""Probability that rounding may have left over: quantiles do not go by it."""


@dataclass(frozen=True)
class ReturnLaw:
    """Values of a return, in rising order, and their probabilities.

    >>> law = ReturnLaw(np.array([0.0, 1.0]), np.array([0.25, 0.75]))
    >>> law.mean, law.variance, law.cvar(0.5)
    (0.75, 0.1875, 0.5)
    """

    values: Float[Array, " E"]
    probabilities: Float[Array, " E"]

    @property
    def mean(self) -> float:
        """J = E[R]."""
        return float(self.probabilities @ self.values)

    @property
    def second_moment(self) -> float:
        """M = E[R²]."""
        return float(self.probabilities @ self.values**2)

    @property
    def variance(self) -> float:
        """E[(R − J)²]."""
        return float(self.probabilities @ (self.values - self.mean) ** 2)

    @property
    def std(self) -> float:
        """The standard deviation of a single episode."""
        return float(np.sqrt(self.variance))

    def expect(self, function: Callable[[Array], Array]) -> float:
        """E[f(R)], for a function of arrays; infinite where R cannot be, it does no harm."""
        possible = self.probabilities > 0
        return float(self.probabilities[possible] @ np.asarray(function(self.values[possible])))

    def quantile(self, level: float) -> float:
        """The least value r with P(R ≤ r) ≥ level: the value at risk."""
        require(0 <= level <= 1, "level", level, "must be from 0 to 1")
        below = np.cumsum(self.probabilities) < level - NEGLIGIBLE
        possible = np.flatnonzero(self.probabilities > NEGLIGIBLE)
        rank = min(max(int(np.sum(below)), possible[0]), possible[-1])
        return float(self.values[rank])

    def cvar(self, level: float) -> float:
        """The mean of the worst share `level` of outcomes."""
        require(0 < level <= 1, "level", level, "must be above 0 and at most 1")
        below = np.cumsum(self.probabilities) - self.probabilities
        worst = np.clip(level - below, 0, self.probabilities)
        return float(worst @ self.values / np.sum(worst))

    def entropic(self, risk_aversion: float) -> float:
        """−log E[e^{−βR}]/β."""
        require_positive("risk_aversion", risk_aversion)
        lowest = self.quantile(0)
        shifted = np.exp(-risk_aversion * (self.values - lowest))
        return float(lowest - np.log(self.probabilities @ shifted) / risk_aversion)

    def mean_variance(self, risk_aversion: float) -> float:
        """J − λ Var(R)."""
        return self.mean - risk_aversion * self.variance

    def best_dual(self, objective: AbstractObjective) -> float:
        """argmax_y E[ψ(R, y)]."""
        return best_dual(objective, self.values, self.probabilities)

    def value(self, objective: AbstractObjective) -> float:
        """max_y E[ψ(R, y)], in the units of the return."""
        natural = objective.natural()
        if isinstance(natural, AbstractStatistic):
            return statistic(natural, self.values, self.probabilities)
        require_surrogate(natural)
        dual = np.array([self.best_dual(natural)])
        return self.expect(lambda returns: surrogates(natural, returns, dual)[:, 0])

    def mixed(self, other: "ReturnLaw", weight: float) -> "ReturnLaw":
        """The law of a return that comes from this one with probability `weight`, else from the other."""
        values, index = np.unique(np.concatenate([self.values, other.values]), return_inverse=True)
        chances = np.concatenate([weight * self.probabilities, (1 - weight) * other.probabilities])
        return ReturnLaw(values, np.bincount(index, chances, len(values)))

    def asdict(self) -> dict[str, Any]:
        """The outcomes that can happen, for JSON."""
        possible = self.probabilities > 0
        return {
            "values": self.values[possible].tolist(),
            "probabilities": self.probabilities[possible].tolist(),
        }
