"""What is kept of episodes that were played to judge a policy."""

from dataclasses import asdict, dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from fenchel.intervals import Interval
from fenchel.objectives.base import AbstractObjective
from fenchel.training.risks import risk_measures


@dataclass(frozen=True)
class Evaluation:
    """Statistics of the returns of independent episodes.

    Arguments:
        mean: mean return.
        std: standard deviation of single episodes.
        standard_error: of the mean.
        value: the objective in the units of the return, J − λ Var for both scales of mean-variance.
        dual: the best dual of these returns, in the objective's own scale; None where it has none.
        episodes: how many.
    """

    mean: float
    std: float
    standard_error: float
    value: float
    dual: float | None
    episodes: int

    def asdict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Sample:
    """What is kept of independent episodes.

    Arguments:
        returns: of each.
        steps: means over the steps of the reward and of its square.
        drawdowns: the greatest fall of the reward so far from where it had been before.
        payments: how many rewards were not zero.
    """

    returns: np.ndarray[Any, Any]
    steps: np.ndarray[Any, Any]
    drawdowns: np.ndarray[Any, Any]
    payments: np.ndarray[Any, Any]

    def evaluate(self, objective: AbstractObjective) -> Evaluation:
        """Statistics, and what the objective makes of them."""
        returns = self.returns
        sample = jnp.asarray(self.steps if objective.per_step else returns)
        with np.errstate(over="ignore", invalid="ignore"):
            mean, std = float(np.mean(returns, dtype=np.float64)), float(np.std(returns, ddof=1))
        return Evaluation(
            mean=mean,
            std=std,
            standard_error=std / len(returns) ** 0.5,
            value=float(objective.natural().value(sample)),
            dual=float(objective.best_dual(sample)) if objective.has_dual else None,
            episodes=len(returns),
        )

    def scaled(self, factor: float) -> "Sample":
        """With all rewards multiplied."""
        powers = np.array([factor, factor**2])
        return Sample(self.returns * factor, self.steps * powers, self.drawdowns * factor, self.payments)

    def risks(self, **how: Any) -> dict[str, Interval]:
        """Empirical risk measures with intervals (`risk_measures`); drawdowns only where paths have them."""
        several = bool(np.any(self.payments > 1))
        return risk_measures(self.returns, self.drawdowns if several else None, **how)
