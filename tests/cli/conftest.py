"""Every test has a compilation cache and a working directory of its own."""

import os
import sys
from pathlib import Path

import jax
import pytest

CACHE = "jax_compilation_cache_dir"


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def _place(cache, tmp_path, monkeypatch):
    monkeypatch.setenv("FENCHEL_CACHE", str(cache))
    monkeypatch.chdir(tmp_path)
    before = getattr(jax.config, CACHE)
    yield
    jax.config.update(CACHE, before)


@pytest.fixture
def fenchel():
    """The words that start the command as a process, and its environment."""
    import fenchel as package

    source = str(Path(package.__file__).parents[1])
    start = "import sys; from fenchel.cli.main import main; sys.exit(main())"
    return [sys.executable, "-c", start], {**os.environ, "PYTHONPATH": source, "JAX_PLATFORMS": "cpu"}
