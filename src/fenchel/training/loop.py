"""The loop around the compiled chunks: records, checkpoints, callbacks, interrupts."""

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fenchel.training import interrupts
from fenchel.training.callbacks import Callback, Snapshot
from fenchel.training.history import History, latest
from fenchel.training.host import parts_for
from fenchel.training.parts import Parts
from fenchel.training.problem import Problem
from fenchel.training.rundir import RunDirectory
from fenchel.training.storage import within

CHUNK_SECONDS = 0.3
"""How long a chunk should take: short for a lively bar, long against the cost of a call."""


@dataclass
class Loop:
    """A run of one or many learners.

    Arguments:
        problems: what each learner learns; they differ in numbers only.
        store: where checkpoints go, if anywhere.
        callbacks: called between chunks.
        checkpoint_seconds: time between two checkpoints.
        records: how many records of the metrics are kept.
    """

    problems: Sequence[Problem]
    store: RunDirectory | None = None
    callbacks: Sequence[Callback] = ()
    checkpoint_seconds: float = 60.0
    records: int = 100
    status: str = "done"
    seconds: float = 0.0
    """Run time, that before the last checkpoint included."""
    compile_seconds: float = 0.0
    iteration: int = 0
    parts: Parts = field(init=False)
    history: History = field(init=False)
    _origin: float = field(init=False, default=0.0)
    """When the run would have started, had it never been stopped."""

    def run(self) -> None:
        """Go on from the last checkpoint, if there is one, to the end."""
        started = time.perf_counter()
        self.prepare()
        self.parts.advance(self.iteration, self.iteration)
        self.compile_seconds = time.perf_counter() - started
        self._origin = time.perf_counter() - self.seconds
        with closing(self.parts), interrupts.deferred() as asked:
            self._chunks(asked)
        self._tell_time()

    def prepare(self) -> None:
        """Set the learners up, as the last checkpoint left them if there is one."""
        first = self.problems[0]
        self.parts = parts_for(self.problems)
        sizes = first.iterations, self.records, first.episodes_per_iteration
        self.history = History(*sizes, self.parts.also)
        self._restore()

    def _chunks(self, asked: interrupts.Interrupts) -> None:
        total, size = self.problems[0].iterations, self.parts.first_chunk
        begun, saved, origin = time.perf_counter(), time.perf_counter(), self.iteration
        if np.all(self.faults() >= 0):
            self.status = "diverged"
        while self.iteration < total and self.status == "done":
            stop = min(self.iteration + size, self.history.next_mark(self.iteration), total)
            ticked, done = time.perf_counter(), stop - self.iteration
            self.parts.advance(self.iteration, stop)
            self.iteration, now = stop, time.perf_counter()
            size = _next_size(size, done, now - ticked)
            if stop in self.history.marks:
                self._record()
            self._settle(asked, (stop - origin) / (now - begun))
            if self.store is not None and now - saved >= self.checkpoint_seconds:
                saved = now
                self.save()
        self.save()

    def _settle(self, asked: interrupts.Interrupts, pace: float) -> None:
        if asked.requested and self.iteration < self.problems[0].iterations:
            self.status = "interrupted"
        elif np.all(self.faults() >= 0):
            self.status = "diverged"
        elif self.callbacks:
            snapshot = self._snapshot(pace)
            answers = [callback(snapshot) for callback in self.callbacks]
            if any(answers):
                self.status = "stopped"

    def faults(self) -> np.ndarray[Any, Any]:
        """Index of the quantity that became non-finite, −1 where none did, of each learner."""
        return np.asarray(self.parts.gather(lambda learner: learner.fault))

    def save(self) -> None:
        """Write a checkpoint."""
        if self.store is None:
            return
        arrays = {f"learner.{name}": array for name, array in self.parts.arrays().items()}
        arrays |= {f"metrics.{name}": array for name, array in self.history.metrics().items()}
        self._tell_time()
        about = {"iteration": self.iteration, "seconds": self.seconds}
        self.store.checkpoints.save(self.iteration, arrays, about)

    def _tell_time(self) -> None:
        self.seconds = time.perf_counter() - self._origin

    def _restore(self) -> None:
        found = None if self.store is None else self.store.checkpoints.load()
        if found is None:
            return
        arrays, meta = found
        self.iteration, self.seconds = int(meta["iteration"]), float(meta.get("seconds", 0.0))
        self.parts.restore(within("learner.", arrays))
        self.history.restore(within("metrics.", arrays))

    def _record(self) -> None:
        self.history.add(self.iteration, self.parts)
        if self.store is not None:
            self.store.write_metrics(self.history.lines())

    def _snapshot(self, pace: float) -> Snapshot:
        now = latest(self.parts)
        if np.all(np.isnan(now["mean"])) and self.history.rows:
            now = {name: self.history.rows[-1][name] for name in now}
        first = self.problems[0]
        per_iteration = first.episodes_per_iteration * len(self.problems)
        left = (first.iterations - self.iteration) / pace if pace > 0 else float("inf")
        return Snapshot(
            iteration=self.iteration,
            iterations=first.iterations,
            episodes=self.iteration * per_iteration,
            episodes_per_second=pace * per_iteration,
            seconds_left=left,
            iterates=self.parts.iterates,
            **now,
        )


def _next_size(size: int, done: int, seconds: float) -> int:
    """Iterations of the next chunk: towards `CHUNK_SECONDS`, at most four times as many as before."""
    wanted = done * CHUNK_SECONDS / max(seconds, 1e-6)
    return max(1, min(int(wanted), 4 * max(size, done)))
