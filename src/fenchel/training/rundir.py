"""The directory of a run: one writer at a time, and files that say what was run and what came of it."""

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from fenchel.errors import InputError, require
from fenchel.training.atomic import (
    TEMPORARY,
    PathLike,
    make_directory,
    parse_json,
    read_bytes,
    read_json,
    remove_directories,
    storage_errors,
    write_atomic,
    write_json,
)
from fenchel.training.identity import as_stored, differences, fingerprint, to_json
from fenchel.training.lock import acquire, release, require_free
from fenchel.training.manifest import manifest
from fenchel.training.storage import Checkpoints

CONFIG, MANIFEST, METRICS, RESULT = "config.json", "manifest.json", "metrics.jsonl", "result.json"
SHOWN = 8
"""Differences listed between two configurations."""


class RunDirectory:
    """The files of a run. `RunDirectory(path)` reads; `open` takes the lock that writing needs.

    Arguments:
        path: the directory.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with RunDirectory.open(f"{folder}/first", {"seed": 1}, resume=False) as run:
    ...         run.write_result({"mean": 0.5})
    ...     RunDirectory(f"{folder}/first").read_result()
    {'mean': 0.5}
    """

    def __init__(self, path: PathLike):
        self.path = Path(path)
        self.checkpoints = Checkpoints(self.path)
        self._lock: int | None = None
        self._resume = False
        self._undo = ExitStack()

    @classmethod
    def open(cls, path: PathLike, config: Mapping[str, Any], resume: bool) -> Self:
        """Start a run, or go on with one of the same configuration; a refusal leaves nothing behind."""
        run = cls.claim(path, resume)
        run.begin(config)
        return run

    @classmethod
    def claim(cls, path: PathLike, resume: bool) -> Self:
        """Lock a place where a run can start or go on; what that takes is undone unless it begins."""
        run = cls(path)
        if not run.path.is_dir():
            run.require_place(resume)
        with ExitStack() as undo:
            undo.callback(remove_directories, make_directory(run.path))
            undo.callback(run._release)
            run._lock = acquire(run.path)
            run.require_place(resume)
            run._undo, run._resume = undo.pop_all(), resume
        return run

    def begin(self, config: Mapping[str, Any]) -> None:
        """Write what is run, or check that it is the same; a refusal gives the place up."""
        with self._undo as undo:
            wanted = as_stored(dict(config))
            self._sweep()
            if self._resume:
                self._require_same(wanted)
            else:
                self._write_new(CONFIG, wanted, undo)
            if not (self.path / MANIFEST).exists():
                self._write_new(MANIFEST, manifest(fingerprint(wanted)), undo)
            undo.pop_all()

    def require_possible(self, resume: bool) -> None:
        """Raise where `claim` would, as far as that can be told without writing."""
        require_free(self.path)
        self.require_place(resume)

    def require_place(self, resume: bool) -> None:
        """Raise unless a run can start here, or go on."""
        place = str(self.path)
        require(self.path.is_dir() or not self.path.exists(), "out", place, "is a file; name a directory")
        if (self.path / CONFIG).exists():
            remedy = "already holds a run; add --resume to go on with it, or choose another directory"
            require(resume, "out", place, remedy)
            return
        others = any((self.path / name).exists() for name in (MANIFEST, METRICS, RESULT))
        if others or self.checkpoints.paths():
            remedy = f"holds a run whose {CONFIG} is missing; choose another directory, or delete this one"
            raise InputError("out", place, remedy)
        require(not resume, "out", place, "holds no run to resume; leave out --resume to start one")

    def close(self) -> None:
        """Release the lock, and give the place up unless a run began in it."""
        self._undo.close()
        self._release()

    def _release(self) -> None:
        """The system does so too when the process ends, however it ends."""
        if self._lock is not None:
            release(self.path, self._lock)
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def read_config(self) -> Any:
        """The configuration of the run."""
        return read_json(self.path / CONFIG)

    def read_manifest(self) -> Any:
        """Where, when and with what it was made."""
        return read_json(self.path / MANIFEST)

    def write_result(self, result: Mapping[str, Any]) -> None:
        """Replace the result."""
        write_json(self.path / RESULT, result)

    def read_result(self) -> Any:
        """The result, None as long as there is none."""
        path = self.path / RESULT
        return read_json(path) if path.exists() else None

    def write_metrics(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Replace all records, one line of JSON each."""
        write_atomic(self.path / METRICS, "".join(f"{to_json(record)}\n" for record in records).encode())

    def read_metrics(self) -> list[Any]:
        """All records, none as long as there are none."""
        path = self.path / METRICS
        lines = read_bytes(path).splitlines() if path.exists() else []
        return [parse_json(path, line) for line in lines]

    def _require_same(self, wanted: Any) -> None:
        changed = differences(self.read_config(), wanted)
        more = f"; and {len(changed) - SHOWN} more" if len(changed) > SHOWN else ""
        listed = "; ".join(changed[:SHOWN]) + more
        remedy = (
            f"was run with another configuration ({listed}); repeat that one, or choose another directory"
        )
        require(not changed, "out", str(self.path), remedy)

    def _sweep(self) -> None:
        for path in self.path.glob(TEMPORARY):
            with storage_errors(path, "removed"):
                path.unlink(missing_ok=True)

    def _write_new(self, name: str, content: Any, undo: ExitStack) -> None:
        undo.callback((self.path / name).unlink, missing_ok=True)
        write_json(self.path / name, content)
