"""What a run returns."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from fenchel.envs.base import AbstractEnvironment
from fenchel.intervals import Interval
from fenchel.objectives.base import AbstractObjective
from fenchel.policies.base import AbstractPolicy
from fenchel.training.evaluate import evaluate, sample_episodes, sample_returns
from fenchel.training.sample import Evaluation, Sample


@dataclass(frozen=True)
class TrainResult:
    """The outcome of one run.

    Arguments:
        policy: the policy that was learned.
        dual: the dual y that came with it; None for an objective without one.
        status: "done", "diverged", "interrupted" or "stopped" (by a callback).
        fault: what became non-finite, and when; None while all is well.
        metrics: arrays over records: iteration, episodes, mean, std (of the returns since the last), dual;
            of Gymnasium's environments also the mean length of an episode, and the share that was truncated.
        provenance: configuration, its fingerprint, versions.
        episodes: how many were played, up to the iteration in which it stopped if it diverged.
        seconds: run time, compilation excluded; that of all sessions of a run that was resumed.
        compile_seconds: time to compile the program or to find it in a cache.
        multiplier: μ of the constraint, for an objective with one.
    """

    policy: AbstractPolicy
    dual: float | None
    status: str
    fault: str | None
    metrics: dict[str, np.ndarray[Any, Any]]
    provenance: dict[str, Any]
    episodes: int
    seconds: float
    compile_seconds: float
    env: AbstractEnvironment = field(repr=False)
    objective: AbstractObjective = field(repr=False)
    directory: Path | None = None
    multiplier: float | None = None

    def evaluate(
        self, episodes: int | None = None, *, seed: int = 0, objective: AbstractObjective | None = None
    ) -> Evaluation:
        """Statistics of fresh episodes under the policy that was learned; `evaluate` has the defaults."""
        goal = self.objective if objective is None else objective
        return evaluate(self.env, self.policy, goal, episodes=episodes, seed=seed)

    def sample(self, episodes: int | None = None, *, seed: int = 0) -> Sample:
        """What risk is measured on, of fresh episodes."""
        return sample_episodes(self.env, self.policy, episodes=episodes, seed=seed)

    def risks(self, episodes: int | None = None, *, seed: int = 0, **how: Any) -> dict[str, Interval]:
        """Empirical risk measures of fresh episodes with intervals; see `risk_measures`."""
        return self.sample(episodes, seed=seed).risks(**how)

    def returns(self, episodes: int | None = None, *, seed: int = 0) -> np.ndarray[Any, Any]:
        """Returns of fresh episodes."""
        return sample_returns(self.env, self.policy, episodes=episodes, seed=seed)


@dataclass(frozen=True)
class SweepResult:
    """The outcomes of many runs, a row each.

    Arguments:
        settings: what each row was run with, where rows differ.
        rows: the results.
        metrics: as in `TrainResult`, with a second axis of rows.
        seconds: run time of all rows together, compilation excluded.
    """

    settings: list[dict[str, Any]]
    rows: list[TrainResult]
    metrics: dict[str, np.ndarray[Any, Any]]
    episodes: int
    seconds: float
    compile_seconds: float
    status: str

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> TrainResult:
        return self.rows[index]

    def evaluate(self, episodes: int | None = None, *, seed: int = 0) -> list[dict[str, Any]]:
        """A table: settings, status and statistics of every row."""
        return [
            {
                **setting,
                "status": row.status,
                "fault": row.fault,
                **row.evaluate(episodes, seed=seed).asdict(),
            }
            for setting, row in zip(self.settings, self.rows, strict=True)
        ]


class Interrupted(KeyboardInterrupt):
    """A run was asked to stop, by Ctrl-C or SIGTERM; `result` is what it had by then."""

    def __init__(self, result: TrainResult | SweepResult):
        self.result = result
        super().__init__("interrupted")
