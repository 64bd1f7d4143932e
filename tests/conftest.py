"""64-bit, strict rank promotion, warnings are errors, compiling in a hurry: settings of every test."""

import atexit
import gc
import os
import shutil
import tempfile
from pathlib import Path

os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=1")  # most of the time is compiling

import jax
import pytest
from hypothesis import settings

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_rank_promotion", "raise")

settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")


def _share_what_is_compiled():
    """By way of the surroundings the workers and the processes that tests start take the same directory."""
    place = tempfile.mkdtemp(prefix="fenchel-tests-")
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    least = {"compile_time_secs": 0.0, "entry_size_bytes": -1}
    for name, value in {
        "jax_compilation_cache_dir": place,
        **{f"jax_persistent_cache_min_{what}": number for what, number in least.items()},
    }.items():
        jax.config.update(name, value)
        os.environ[name.upper()] = str(value)


if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
    _share_what_is_compiled()


MAPPINGS = Path("/proc/self/maps")
MOST_MAPPINGS = 20_000
"""A process may have 65,530, and every compiled program takes some: with one too many it crashes."""


@pytest.fixture(autouse=True, scope="module")
def _forget_what_was_compiled():
    yield
    if MAPPINGS.exists() and len(MAPPINGS.read_text().splitlines()) > MOST_MAPPINGS:
        jax.clear_caches()
        gc.collect()
