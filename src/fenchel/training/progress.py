"""A progress bar on standard error: how far, how fast, how long yet, and how good."""

import sys

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from fenchel.training.callbacks import Snapshot

FAR = 359_999
"""Seconds left beyond which nobody counts."""


class Bar:
    """On a terminal a live bar, elsewhere a line every tenth of the way."""

    def __init__(self) -> None:
        self.console = Console(file=sys.stderr)
        self.bar: Progress | None = None
        self.task: TaskID | None = None
        self.shown = -1

    def show(self, share: float, text: str) -> None:
        """Show how much is done, and a line about it."""
        if self.console.is_terminal:
            self._draw(share, text)
        elif (tenth := int(10 * share)) > self.shown:
            self.shown = tenth
            self.console.print(f"{share:4.0%}  {text}", highlight=False)

    def _draw(self, share: float, text: str) -> None:
        if self.bar is None:
            columns = (BarColumn(30), TextColumn("{task.percentage:3.0f}%"), TextColumn("{task.description}"))
            self.bar = Progress(*columns, console=self.console)
            self.task = self.bar.add_task(text, total=1.0)
            self.bar.start()
        assert self.task is not None
        self.bar.update(self.task, completed=share, description=text)
        if share >= 1:
            self.close()

    def close(self) -> None:
        """Leave the last state on the screen."""
        if self.bar is not None:
            self.bar.stop()
            self.bar = None


class ProgressBar(Bar):
    """A callback that shows a run."""

    def __call__(self, snapshot: Snapshot) -> None:
        """Show where the run stands."""
        self.show(snapshot.iteration / snapshot.iterations, describe_snapshot(snapshot))


def describe_snapshot(snapshot: Snapshot) -> str:
    """One line: episodes a second, time left, and the learners' mean and std (the median learner's)."""
    mean, std = float(np.median(snapshot.mean)), float(np.median(snapshot.std))
    return (
        f"{snapshot.episodes_per_second:,.0f} episodes/s  {clock(snapshot.seconds_left)} left  "
        f"mean {mean:.4g}  std {std:.4g}"
    )


def clock(seconds: float) -> str:
    """Minutes and seconds.

    >>> clock(75.2)
    '1:15'
    """
    minutes, rest = divmod(round(min(seconds, FAR)), 60)
    return f"{minutes}:{rest:02d}"
