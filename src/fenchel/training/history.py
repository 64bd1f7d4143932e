"""What is recorded on the way: moments of the returns and the dual, at fixed iterations."""

from typing import Any

import numpy as np

from fenchel.training.learner import Learner
from fenchel.training.parts import Arrays, Parts

FIELDS = ("iteration", "mean", "std", "dual")


class History:
    """One record per learner at each of some evenly spaced iterations."""

    def __init__(
        self, iterations: int, records: int, episodes_per_iteration: int, also: tuple[str, ...] = ()
    ):
        self.fields = (*FIELDS, *also)
        count = max(1, min(records, iterations))
        self.marks = [iterations * (i + 1) // count for i in range(count)]
        self.per_iteration = episodes_per_iteration
        self.rows: list[dict[str, np.ndarray[Any, Any]]] = []

    def next_mark(self, iteration: int) -> int:
        """The next iteration with a record."""
        return next(mark for mark in self.marks if mark > iteration)

    def add(self, iteration: int, parts: Parts) -> None:
        """Record what happened since the last record."""
        now = {"iteration": np.asarray(iteration, np.int64), **latest(parts), **parts.more()}
        self.rows.append(now)
        parts.reset_tallies()

    def metrics(self) -> Arrays:
        """Arrays of (records, learners); episodes and iteration are of (records,)."""
        columns = {field: np.asarray([row[field] for row in self.rows]) for field in self.fields}
        return {**columns, "episodes": columns["iteration"] * self.per_iteration}

    def lines(self) -> list[dict[str, Any]]:
        """The same as JSON, a line per record."""
        metrics = self.metrics()
        return [{name: column[i].tolist() for name, column in metrics.items()} for i in range(len(self.rows))]

    def restore(self, metrics: Arrays) -> None:
        """Put back what `metrics` gave."""
        count = len(metrics["iteration"])
        self.rows = [{field: metrics[field][i] for field in self.fields} for i in range(count)]


def latest(parts: Parts) -> dict[str, np.ndarray[Any, Any]]:
    """Mean and standard deviation of the returns since the last record, and the dual, of each learner."""

    def pick(learner: Learner) -> Any:
        return learner.tally, learner.state.dual

    tally, dual = parts.gather(pick)
    with np.errstate(invalid="ignore", divide="ignore"):
        return {
            "mean": np.where(tally.count > 0, tally.mean, np.nan),
            "std": np.sqrt(np.where(tally.count > 1, tally.scatter / (tally.count - 1), np.nan)),
            "dual": dual,
        }
