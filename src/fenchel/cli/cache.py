"""Compiled programs are kept on disk, so that the second start of a command does not compile again."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any


def cache_directory() -> Path:
    """`$FENCHEL_CACHE`, or `fenchel/xla` in the user's cache directory."""
    own = os.environ.get("FENCHEL_CACHE")
    if own:
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "fenchel" / "xla"


def keep_compiled() -> None:
    """Set the persistent cache up before anything is compiled; without a directory to write to there is none.

    Whoever has chosen a directory by JAX's own variables keeps it.
    """
    import jax

    config: Any = jax.config
    if config.jax_compilation_cache_dir is not None:
        return
    with suppress(OSError, RuntimeError):  # the latter from Path.home()
        directory = cache_directory()
        directory.mkdir(parents=True, exist_ok=True)
        if os.access(directory, os.W_OK | os.X_OK):
            config.update("jax_compilation_cache_dir", str(directory))
            config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
            config.update("jax_persistent_cache_min_entry_size_bytes", -1)
