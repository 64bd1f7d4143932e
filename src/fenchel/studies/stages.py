"""A study in stages: each is computed once, kept in a file, and read from there by whoever goes on."""

import hashlib
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fenchel.training.atomic import DamagedFileError, make_directory, read_json, write_json
from fenchel.training.callbacks import Snapshot
from fenchel.training.identity import as_stored, to_json
from fenchel.training.progress import Bar, clock

Results = dict[str, Any]


class Stage(NamedTuple):
    """A part of a study.

    Arguments:
        name: also that of its file, with folders.
        cost: what it takes, in whatever unit all stages share.
        compute: its results as JSON, from those of the stages before it; what it is given beside is told
            how far it is.
    """

    name: str
    cost: float
    compute: Callable[[Mapping[str, Results], Callable[[float], None]], Results]


def run_stages(stages: Sequence[Stage], directory: Path, bar: Bar | None = None) -> dict[str, Results]:
    """The results of all stages by name; those that are on disk already are not computed again."""
    course = _Course(sum(stage.cost for stage in stages), bar)
    results: dict[str, Results] = {}
    for stage in stages:
        path = stage_file(directory, stage.name)
        found = read_stage(path)
        if found is None:
            course.begin(stage)
            found = as_stored(stage.compute(results, course.told))
            write_stage(path, found)
        results[stage.name] = found
        course.end(stage)
    return results


def stage_file(directory: Path, name: str) -> Path:
    """Where the results of a stage are kept."""
    return directory / f"{name}.json"


def write_stage(path: Path, results: Results) -> None:
    """Keep results, with a checksum."""
    make_directory(path.parent)
    write_json(path, {"checksum": _checksum(results), "results": results})


def read_stage(path: Path) -> Results | None:
    """What `write_stage` wrote; None, with a warning, where that was damaged."""
    if not path.exists():
        return None
    try:
        content = read_json(path)
        results: Results = content["results"]
        if content["checksum"] == _checksum(results):
            return results
    except (DamagedFileError, KeyError, TypeError):
        pass
    warnings.warn(f"{path} is damaged; it is computed again", stacklevel=2)
    return None


def _checksum(results: Results) -> str:
    return hashlib.sha256(to_json(results).encode()).hexdigest()


def fraction_of(watch: Callable[[float], None]) -> Callable[[Snapshot], None]:
    """A callback of training that tells how far a run is."""

    def tell(snapshot: Snapshot) -> None:
        watch(snapshot.iteration / snapshot.iterations)

    return tell


class _Course:
    """How far a study is, and how long it will take at the pace so far."""

    def __init__(self, total: float, bar: Bar | None):
        self.total, self.bar = total, bar
        self.done = self.worked = 0.0
        self.begun = time.perf_counter()
        self.stage: Stage | None = None

    def begin(self, stage: Stage) -> None:
        """A stage that has to be computed starts."""
        self.stage = stage
        self.told(0.0)

    def told(self, share: float) -> None:
        """That stage is so far."""
        if self.bar is None or self.stage is None:
            return
        ahead = self.stage.cost * share
        worked, left = self.worked + ahead, self.total - self.done - ahead
        spent = time.perf_counter() - self.begun
        remaining = f"{clock(spent / worked * left)} left" if worked > 0 else "starting"
        self.bar.show((self.done + ahead) / self.total, f"{remaining}  {self.stage.name}")

    def end(self, stage: Stage) -> None:
        """A stage is done, or was before."""
        self.done += stage.cost
        if self.stage is stage:
            self.worked += stage.cost
        if self.bar is not None and self.done >= self.total:
            self.bar.show(1.0, "done")
