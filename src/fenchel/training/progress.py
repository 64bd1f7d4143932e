"""A progress bar on standard error: how far, how fast, how long yet, and how good."""

import sys

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from fenchel.training.callbacks import Snapshot


class ProgressBar:
    """A callback that shows a run: on a terminal a live bar, elsewhere a line every tenth of the way."""

    def __init__(self) -> None:
        self.console = Console(file=sys.stderr)
        self.bar: Progress | None = None
        self.task: TaskID | None = None
        self.shown = -1

    def __call__(self, snapshot: Snapshot) -> None:
        """Show where the run stands."""
        text = describe_snapshot(snapshot)
        if self.console.is_terminal:
            self._draw(snapshot, text)
        elif (tenth := 10 * snapshot.iteration // snapshot.iterations) > self.shown:
            self.shown = tenth
            self.console.print(f"{snapshot.iteration / snapshot.iterations:4.0%}  {text}", highlight=False)

    def _draw(self, snapshot: Snapshot, text: str) -> None:
        if self.bar is None:
            columns = (BarColumn(30), TextColumn("{task.percentage:3.0f}%"), TextColumn("{task.description}"))
            self.bar = Progress(*columns, console=self.console)
            self.task = self.bar.add_task(text, total=snapshot.iterations)
            self.bar.start()
        assert self.task is not None
        self.bar.update(self.task, completed=snapshot.iteration, description=text)
        if snapshot.iteration >= snapshot.iterations:
            self.close()

    def close(self) -> None:
        """Leave the last state on the screen."""
        if self.bar is not None:
            self.bar.stop()
            self.bar = None


def describe_snapshot(snapshot: Snapshot) -> str:
    """One line: episodes a second, time left, and the learners' mean and std (the median learner's)."""
    minutes, seconds = divmod(round(min(snapshot.seconds_left, 359_999)), 60)
    mean, std = float(np.median(snapshot.mean)), float(np.median(snapshot.std))
    return (
        f"{snapshot.episodes_per_second:,.0f} episodes/s  {minutes}:{seconds:02d} left  "
        f"mean {mean:.4g}  std {std:.4g}"
    )
