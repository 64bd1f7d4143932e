"""An exclusive lock on a directory that the system releases when its holder dies, however it dies."""

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from fenchel.errors import InputError
from fenchel.training.atomic import storage_errors

NAME = ".lock"


def acquire(directory: Path) -> int:
    """Lock a directory; an `InputError` naming the process that holds it already.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release(Path(folder), acquire(Path(folder)))
    """
    path = directory / NAME
    with storage_errors(path, "locked"):
        handle = None
        while handle is None:
            handle = _attempt(path)
        try:
            os.truncate(handle, 0)
            os.pwrite(handle, str(os.getpid()).encode(), 0)
        except OSError:
            release(directory, handle)
            raise
    return handle


def require_free(directory: Path) -> None:
    """Raise the `InputError` of `acquire` if a live process holds the lock; nothing is written."""
    path = directory / NAME
    with storage_errors(path, "read"):
        try:
            handle = os.open(path, os.O_RDONLY)
        except (FileNotFoundError, NotADirectoryError):
            return
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _in_use(directory, os.pread(handle, 32, 0)) from None
        finally:
            os.close(handle)


def release(directory: Path, handle: int) -> None:
    """Release what `acquire` returned."""
    with suppress(OSError):
        (directory / NAME).unlink()
    os.close(handle)


def _attempt(path: Path) -> int | None:
    """A handle on the locked file; None if a closing run has meanwhile removed that file."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _names(path, handle):
            return handle
    except BlockingIOError:
        owner = os.pread(handle, 32, 0)
        os.close(handle)
        raise _in_use(path.parent, owner) from None
    except BaseException:
        os.close(handle)
        raise
    os.close(handle)
    return None


def _in_use(directory: Path, owner: bytes) -> InputError:
    process = f" (process {int(owner)})" if owner.isdigit() else ""
    remedy = f"is in use by another live run{process}; wait for it, stop it, or choose another directory"
    return InputError("out", str(directory), remedy)


def _names(path: Path, handle: int) -> bool:
    """Whether `path` is still the file open as `handle`."""
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False
