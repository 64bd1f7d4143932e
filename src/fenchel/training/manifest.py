"""Where a run was made: versions, device, and the state of the project's repository."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

PACKAGES = ("fenchel", "jax", "jaxlib", "equinox", "optax", "numpy")
GIT_TIMEOUT = 2.0
"""Seconds after which a slow repository is left out."""


def manifest(fingerprint: str) -> dict[str, Any]:
    """What surrounded a run. Nothing in it is part of the run's identity, which is `fingerprint`.

    >>> sorted(manifest("ab12"))
    ['created', 'device', 'fingerprint', 'git', 'packages', 'platform', 'python']
    """
    return {
        "fingerprint": fingerprint,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "packages": {name: _version(name) for name in PACKAGES},
        "python": platform.python_version(),
        "platform": platform.platform(),
        "device": _device(),
        "git": _git(),
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _device() -> dict[str, Any]:
    import jax

    devices = jax.devices()
    return {"platform": devices[0].platform, "kind": devices[0].device_kind, "count": len(devices)}


def _git() -> dict[str, Any] | None:
    """Commit of the working directory's repository, and whether tracked files differ from it."""
    command = ["git", "--no-optional-locks", "status", "--porcelain=v2", "--branch", "--untracked-files=no"]
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
    try:
        done = subprocess.run(
            command, capture_output=True, check=True, env=environment, timeout=GIT_TIMEOUT, text=True
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    lines = done.stdout.splitlines()
    commit = next((line.split()[2] for line in lines if line.startswith("# branch.oid ")), None)
    return {"commit": commit, "dirty": any(not line.startswith("#") for line in lines)}
