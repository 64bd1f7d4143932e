"""What a run keeps on disk: JSON, arrays, and checkpoints of which the last good one always survives."""

import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fenchel.errors import StorageError, require_count
from fenchel.training.arrays import Arrays, load_arrays, save_arrays
from fenchel.training.atomic import (
    DamagedFileError,
    PathLike,
    make_directory,
    read_json,
    storage_errors,
    write_atomic,
    write_json,
)

__all__ = [
    "Checkpoints",
    "DamagedCheckpointWarning",
    "DamagedFileError",
    "load_arrays",
    "read_json",
    "save_arrays",
    "write_atomic",
    "write_json",
]

_CHECKPOINT = re.compile(r"checkpoint-(\d{12,})\.safetensors")


class DamagedCheckpointWarning(UserWarning):
    """A checkpoint that cannot be read was passed over."""


class Checkpoints:
    """The last few states of a run: `checkpoint-<iteration>.safetensors`, in one directory.

    Arguments:
        directory: where they are; made when the first one is saved.
        keep: how many of them to keep.

    >>> import tempfile
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checkpoints = Checkpoints(folder, keep=2)
    ...     for iteration in (10, 20, 30):
    ...         checkpoints.save(iteration, {"theta": np.ones(1)}, {"iteration": iteration})
    ...     sorted(checkpoints.paths()), checkpoints.load()[1]
    ([20, 30], {'iteration': 30})
    """

    def __init__(self, directory: PathLike, keep: int = 2):
        require_count("keep", keep)
        self.directory, self.keep = Path(directory), keep

    def paths(self) -> dict[int, Path]:
        """The files there are, by iteration."""
        with storage_errors(self.directory, "read"):
            found = list(self.directory.iterdir()) if self.directory.exists() else []
        return {int(match[1]): path for path in found if (match := _CHECKPOINT.fullmatch(path.name))}

    def save(self, iteration: int, arrays: Mapping[str, Any], meta: Mapping[str, Any]) -> None:
        """Write one, then drop the oldest, and any of a later iteration: this one takes their place."""
        require_count("iteration", iteration, least=0)
        make_directory(self.directory)
        save_arrays(self.directory / f"checkpoint-{iteration:012d}.safetensors", arrays, meta)
        self._prune(iteration)

    def load(self) -> tuple[Arrays, dict[str, Any]] | None:
        """The newest good one, warning of those passed over; None where there is none at all."""
        paths = [path for _, path in sorted(self.paths().items(), reverse=True)]
        for path in paths:
            try:
                return load_arrays(path)
            except StorageError as error:
                text = f"{error}; it is passed over for the one before"
                warnings.warn(text, DamagedCheckpointWarning, stacklevel=2)
        if not paths:
            return None
        remedy = "restore one from a copy, or start again in another directory"
        raise StorageError(f"{self.directory}: none of its {len(paths)} checkpoints can be read; {remedy}")

    def _prune(self, newest: int) -> None:
        paths = self.paths()
        kept = sorted(iteration for iteration in paths if iteration <= newest)[-self.keep :]
        for iteration in paths.keys() - set(kept):
            with storage_errors(paths[iteration], "removed"):
                paths[iteration].unlink(missing_ok=True)


def within(prefix: str, arrays: Arrays) -> Arrays:
    """The arrays whose name begins so, by the rest of it."""
    return {name[len(prefix) :]: array for name, array in arrays.items() if name.startswith(prefix)}
