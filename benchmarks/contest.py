"""Measurements taken in turns, so that whatever else the machine does falls on all contestants alike."""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

HERE = Path(__file__).parent


class Contestant(Protocol):
    """Whatever can be timed."""

    def rate(self, seconds: float) -> float:
        """Episodes per second over about so many seconds."""


class Worker:
    """A `worker.py` process.

    Arguments:
        workload: what it learns.
        environment: variables of the process.
        layout: constants that differ from fenchel's, or iterations per chunk.
    """

    def __init__(self, workload: str, environment: dict[str, str] | None = None, **layout: int):
        wanted = json.dumps({"workload": workload, **layout})
        self.process = subprocess.Popen(
            [sys.executable, HERE / "worker.py", wanted],
            env={**os.environ, **(environment or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def rate(self, seconds: float) -> float:
        """Episodes per second over about so many seconds."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()
        found = self.answer()
        return float(found["episodes"] / found["seconds"])

    def answer(self) -> dict[str, Any]:
        """What it prints next; the first says that it is compiled."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.process.args} ended without an answer")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def __enter__(self) -> Self:
        self.answer()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.communicate()


def turns(contestants: Sequence[Contestant], repetitions: int, seconds: float) -> list[list[float]]:
    """Rates of each, after one warm-up that also finds its pace."""
    for contestant in contestants:
        for fraction in (0.2, 0.5):
            contestant.rate(seconds * fraction)
    rounds = [[contestant.rate(seconds) for contestant in contestants] for _ in range(repetitions)]
    return [list(rates) for rates in zip(*rounds, strict=True)]


def ratios(first: Sequence[float], second: Sequence[float]) -> dict[str, float]:
    """Median, least and greatest of the ratios turn by turn."""
    each = [a / b for a, b in zip(first, second, strict=True)]
    return {"median": statistics.median(each), "least": min(each), "greatest": max(each)}


def fresh(*arguments: str, script: str = "fresh.py", **environment: str) -> dict[str, Any]:
    """What a script in here prints last, in a process of its own."""
    done = subprocess.run(
        [sys.executable, HERE / script, *arguments],
        env={**os.environ, **environment},
        check=True,
        capture_output=True,
        text=True,
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
