"""What only a process of its own can show: imports, signals, broken pipes, the cache."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import jax
import numpy as np
import pytest

import fenchel as library
from fenchel.cli.cache import cache_directory, keep_compiled
from fenchel.cli.main import main

pytestmark = pytest.mark.slow

HELP = [
    "--help",
    "--version",
    "train --help",
    "evaluate --help",
    "frontier --help",
    "paper --help",
    "list --help",
]
PROBE = (
    "import sys; from fenchel.cli.main import main; code = main(sys.argv[1:]); "
    "heavy = {'jax', 'numpy', 'scipy', 'equinox'} & sys.modules.keys(); sys.exit(str(heavy or '') or code)"
)
TINY = [
    *("--batch-size", "100", "--evaluate-episodes", "100", "--policy-step-size", "0.1", "--quiet", "--json"),
    *("--episodes", "200"),
]
LONG = ["train", "option", "--policy", "tabular", *TINY[:-1], "1000000"]


def run(fenchel, *words, **how):
    start, environment = fenchel
    merged = {**environment, **how}
    done = subprocess.run([*start, *words], capture_output=True, text=True, env=merged, check=False)
    assert "Traceback" not in done.stderr
    return done


@pytest.mark.parametrize("line", HELP)
def test_help_needs_no_jax(fenchel, line):
    (python, flag, _), environment = fenchel
    words = [python, flag, PROBE, *line.split()]
    done = subprocess.run(words, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("fenchel 0" if line == "--version" else "usage: fenchel")


def test_a_reader_who_leaves(fenchel):
    start, environment = fenchel
    for line in ("list", "train --help"):
        process = subprocess.Popen(
            [*start, *line.split()], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
        )
        process.stdout.close()
        assert process.wait() == 0
        assert process.stderr.read() == b""
        process.stderr.close()


def test_second_start_is_served_from_the_cache(fenchel, tmp_path):
    fenchel[1].pop("JAX_COMPILATION_CACHE_DIR")  # whoever has that, keeps it
    place = {"FENCHEL_CACHE": str(tmp_path / "deep" / "cache")}
    first = run(fenchel, "train", "option", *TINY, **place)
    stored = {path.name for path in Path(place["FENCHEL_CACHE"]).iterdir() if path.name.endswith("-cache")}
    second = run(fenchel, "train", "option", *TINY, **place)
    assert (first.returncode, first.stderr, second.returncode, second.stderr) == (0, "", 0, "")
    again = {path.name for path in Path(place["FENCHEL_CACHE"]).iterdir() if path.name.endswith("-cache")}
    assert stored and again == stored
    cold, warm = json.loads(first.stdout), json.loads(second.stdout)
    assert warm["mean"] == cold["mean"]
    assert warm["compile_seconds"] < cold["compile_seconds"]


@pytest.mark.parametrize("place", ["file/cache", "file"])
def test_without_a_place_for_the_cache(monkeypatch, place):
    Path("file").write_text("")
    monkeypatch.setenv("FENCHEL_CACHE", place)
    jax.config.update("jax_compilation_cache_dir", None)
    keep_compiled()
    assert jax.config.jax_compilation_cache_dir is None


def test_where_the_cache_is(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/base")
    assert cache_directory() == Path(os.environ["FENCHEL_CACHE"])
    monkeypatch.setenv("FENCHEL_CACHE", "")
    assert cache_directory() == Path("/base/fenchel/xla")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_directory() == Path.home() / ".cache" / "fenchel" / "xla"


def stopped_by(fenchel, number, out):
    """The object printed by a long run that was asked to stop once it was learning."""
    start, environment = fenchel
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen([*start, *LONG, "--out", out], env=environment, **streams)
    while not Path(out, "metrics.jsonl").exists() and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(number)
    printed, err = process.communicate()
    assert process.returncode == 130
    assert "to go on: fenchel train" in err and "--resume" in err
    assert list(Path(out).glob("checkpoint-*"))
    found = json.loads(printed)
    assert found["status"] == "interrupted"
    assert 0 < found["episodes"] < 1_000_000
    return found


def test_terminated(fenchel):
    assert stopped_by(fenchel, signal.SIGTERM, "run")["out"] == "run"


def test_interrupted_and_resumed(fenchel):
    stopped_by(fenchel, signal.SIGINT, "run")
    finished = json.loads(run(fenchel, *LONG, "--out", "run", "--resume").stdout)
    whole = json.loads(run(fenchel, *LONG, "--out", "whole").stdout)
    for key in whole.keys() - {"seconds", "compile_seconds", "out"}:
        assert finished[key] == whole[key]
    tables = [np.asarray(library.load(name).policy.table) for name in ("run", "whole")]
    np.testing.assert_array_equal(*tables)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_outside_the_loop(capsys, monkeypatch, number):
    """With Python's own handler of SIGINT, which a job in the background of a shell is started without."""
    monkeypatch.setattr("fenchel.cli.list.catalogue", lambda: os.kill(os.getpid(), number))
    outside = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        handler = signal.getsignal(number)
        assert main(["list", "--json"]) == 130
        assert capsys.readouterr() == ("", "fenchel: interrupted\n")
        assert signal.getsignal(number) is handler
    finally:
        signal.signal(signal.SIGINT, outside)
