"""Files that survive a crash: written whole or not at all, and on the disk when the call returns."""

import errno
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from fenchel.errors import StorageError
from fenchel.training.identity import to_json

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
TEMPORARY = ".fenchel-*.tmp"
"""What a killed write can leave behind."""

PathLike = str | os.PathLike[str]


class DamagedFileError(StorageError):
    """A file that is truncated, altered, or none of fenchel's."""


def write_atomic(path: PathLike, data: bytes) -> None:
    """Write a file so that, whatever happens, `path` holds either all of `data` or what it held before.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_atomic(f"{folder}/note", b"kept")
    ...     Path(folder, "note").read_bytes()
    b'kept'
    """
    path = Path(path)
    temporary = path.with_name(TEMPORARY.replace("*", secrets.token_hex(8)))
    with storage_errors(path, "written"):
        try:
            _write_synced(temporary, data)
            temporary.replace(path)
        finally:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
        sync_directory(path.parent)


def read_bytes(path: PathLike) -> bytes:
    """All of a file."""
    with storage_errors(path, "read"):
        return Path(path).read_bytes()


def write_json(path: PathLike, obj: Any) -> None:
    """Write `obj` as JSON, atomically.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_json(f"{folder}/x.json", {"mean": 0.5, "shape": (2, 3)})
    ...     read_json(f"{folder}/x.json")
    {'mean': 0.5, 'shape': [2, 3]}
    """
    write_atomic(path, f"{to_json(obj, indent=1)}\n".encode())


def read_json(path: PathLike) -> Any:
    """What `write_json` wrote."""
    return parse_json(path, read_bytes(path))


def parse_json(path: PathLike, data: bytes) -> Any:
    """`data`, found in the file at `path`, as JSON."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DamagedFileError(f"{path}: is damaged, or no JSON ({error})") from None


def make_directory(path: Path) -> list[Path]:
    """Make a directory and its parents, or nothing; those that were not there before, deepest first."""
    missing = [place for place in (path, *path.parents) if not place.exists()]
    with storage_errors(path, "made"):
        try:
            path.mkdir(parents=True, exist_ok=True)
            for place in missing:
                sync_directory(place.parent)
        except OSError:
            remove_directories(missing)
            raise
    return missing


def remove_directories(paths: list[Path]) -> None:
    """Remove those that are there and empty, in this order."""
    for path in paths:
        with suppress(OSError):
            path.rmdir()


@contextmanager
def storage_errors(path: PathLike, deed: str) -> Iterator[None]:
    """Turn an `OSError` into a `StorageError` that names the file, the reason and the remedy."""
    try:
        yield
    except StorageError:
        raise
    except OSError as error:
        full = error.errno in FULL
        remedy = _when_full(Path(path)) if full else "check that it exists and that you may use it"
        raise StorageError(f"{path}: could not be {deed} ({error.strerror or error}); {remedy}") from error


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable; quietly nothing where the file system has no such thing."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in {errno.EINVAL, errno.ENOTSUP}:
            raise
    finally:
        os.close(handle)


def _when_full(path: Path) -> str:
    """What to do about a full disk, with or without a checkpoint beside the file."""
    with suppress(OSError):
        if any(path.parent.glob("checkpoint-*.safetensors")):
            return "free some space and resume; the last good checkpoint is kept"
    return "free some space and run it again; no checkpoint had been written"


def _write_synced(path: Path, data: bytes) -> None:
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
