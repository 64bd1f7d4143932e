"""A fully resolved training problem, and its configuration."""

from dataclasses import dataclass, fields
from typing import Any

from fenchel.ascent.base import AbstractSolver
from fenchel.ascent.selection import AbstractSelection
from fenchel.estimators import Pathwise, ScoreFunction, Storm
from fenchel.objectives.base import AbstractObjective
from fenchel.policies.base import AbstractPolicy


@dataclass(frozen=True)
class Problem:
    """Who learns what, from what, how, and for how long. Every choice has been made."""

    policy: AbstractPolicy
    objective: AbstractObjective
    solver: AbstractSolver
    estimator: ScoreFunction | Pathwise | Storm
    selection: AbstractSelection
    dual: float
    seed: int
    iterations: int

    @property
    def episodes_per_iteration(self) -> int:
        """Episodes that one iteration samples."""
        return self.estimator.batch_size * self.solver.batches

    def config(self) -> dict[str, Any]:
        """The configuration that identifies the run: JSON, without anything that changes by itself."""
        from fenchel.training.config import describe

        return {field.name: describe(getattr(self, field.name)) for field in fields(self)}
