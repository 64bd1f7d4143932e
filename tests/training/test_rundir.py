"""One writer at a time, one configuration per directory, and nothing left behind by a refusal."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fenchel.errors import InputError, StorageError
from fenchel.training import rundir
from fenchel.training.atomic import TEMPORARY
from fenchel.training.identity import fingerprint
from fenchel.training.manifest import manifest
from fenchel.training.rundir import RunDirectory

CONFIG = {"objective": {"type": "objectives.MeanVariance", "risk_aversion": 1.0}, "seed": 0, "hidden": (8, 8)}
FILES = ["config.json", "manifest.json"]


def tree(path: Path) -> dict[str, bytes | None]:
    return {str(p.relative_to(path)): p.read_bytes() if p.is_file() else None for p in path.rglob("*")}


def snippet(code: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.fixture
def finished(tmp_path):
    with RunDirectory.open(tmp_path / "run", CONFIG, resume=False):
        pass
    return tmp_path / "run"


def test_life_of_a_run(tmp_path):
    path = tmp_path / "runs" / "first"
    with RunDirectory.open(path, CONFIG, resume=False) as run:
        assert (path / ".lock").read_text() == str(os.getpid())
        assert run.read_result() is None and run.read_metrics() == []
        run.checkpoints.save(3, {"theta": np.ones(2)}, {"iteration": 3})
        run.write_metrics([{"iteration": 1, "mean": np.float32(0.5)}, {"iteration": 2, "mean": float("inf")}])
        run.write_metrics([{"iteration": k, "note": "two\nlines"} for k in range(3)])
        run.write_result({"mean": np.float64(0.25)})
    assert sorted(tree(path)) == [
        "checkpoint-000000000003.safetensors",
        *FILES,
        "metrics.jsonl",
        "result.json",
    ]
    reader = RunDirectory(path)
    assert reader.read_config() == json.loads(json.dumps(CONFIG))
    assert reader.read_metrics() == [{"iteration": k, "note": "two\nlines"} for k in range(3)]
    assert reader.read_result() == {"mean": 0.25}
    assert reader.read_manifest()["fingerprint"] == fingerprint(CONFIG)
    with RunDirectory.open(path, CONFIG, resume=True) as run:
        assert run.checkpoints.load()[1] == {"iteration": 3}
        assert run.read_result() == {"mean": 0.25}


def test_manifest_names_versions_device_and_time():
    made = manifest("ab12")
    assert set(made["packages"]) == {"fenchel", "jax", "jaxlib", "equinox", "optax", "numpy"}
    assert all(made["packages"].values())
    assert made["device"]["platform"] and made["device"]["kind"] and made["created"].endswith("+00:00")


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_manifest_knows_the_repository(tmp_path, monkeypatch):
    def git(*arguments):
        identity = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
        return subprocess.run(
            ["git", *identity, *arguments], check=True, capture_output=True, text=True
        ).stdout

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert manifest("")["git"] is None
    git("init")
    Path("file").write_text("1")
    git("add", "file")
    git("commit", "-m", "first")
    assert manifest("")["git"] == {"commit": git("rev-parse", "HEAD").strip(), "dirty": False}
    Path("file").write_text("2")
    assert manifest("")["git"]["dirty"]
    monkeypatch.setenv("PATH", "")
    assert manifest("")["git"] is None


def refused(path: Path, config: object, resume: bool, match: str, kind: type[Exception] = InputError) -> str:
    """Opening fails with this message, in one line that names the place, and changes no file anywhere."""
    before = tree(path.parent)
    with pytest.raises(kind, match=match) as caught:
        RunDirectory.open(path, config, resume=resume)
    assert tree(path.parent) == before
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_second_fresh_run_is_refused(finished):
    message = refused(finished, CONFIG, False, "already holds a run; add --resume")
    assert str(finished) in message and message.startswith("out = ")


@pytest.mark.parametrize("name", ["manifest.json", "metrics.jsonl", "result.json"])
def test_files_of_something_else_are_not_overwritten(name, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / name).write_text("mine")
    for resume in (False, True):
        refused(tmp_path / "run", CONFIG, resume, r"whose config\.json is missing; choose another directory")


def test_checkpoints_without_a_configuration_are_not_overwritten(tmp_path):
    rundir.Checkpoints(tmp_path / "run").save(1, {}, {})
    for resume in (False, True):
        refused(tmp_path / "run", CONFIG, resume, r"whose config\.json is missing; .* or delete this one")


def test_a_directory_with_other_things_will_do(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with RunDirectory.open(tmp_path, CONFIG, resume=False):
        pass
    assert sorted(tree(tmp_path)) == [*FILES, "notes.txt"]


@pytest.mark.parametrize("place", ["missing", "missing/deep/er", "empty"])
def test_resume_needs_a_run(place, tmp_path):
    (tmp_path / "empty").mkdir()
    refused(tmp_path / place, CONFIG, True, "holds no run to resume")
    assert list(tmp_path.iterdir()) == [tmp_path / "empty"]


@pytest.mark.parametrize("resume", [False, True])
def test_a_file_is_no_directory(resume, tmp_path):
    (tmp_path / "file").touch()
    refused(tmp_path / "file", CONFIG, resume, "is a file; name a directory")
    refused(tmp_path / "file" / "below", CONFIG, False, "could not be made", StorageError)


def test_a_configuration_must_be_json(tmp_path):
    refused(tmp_path / "run", {"policy": object()}, False, "JSON")


def test_resume_lists_what_differs(finished):
    other = {
        "objective": {**CONFIG["objective"], "risk_aversion": 2.0},
        "seed": 0,
        "hidden": (8, 8, 4),
        "x": None,
    }
    message = refused(finished, other, True, "another configuration")
    listed = "(hidden.2: (absent) → 4; objective.risk_aversion: 1.0 → 2.0; x: (absent) → null)"
    assert listed in message


def test_long_lists_of_differences_are_cut(finished):
    message = refused(finished, {**CONFIG, **{f"field{k:02d}": k for k in range(20)}}, True, "field07")
    assert "; and 12 more)" in message and "field08" not in message


def test_damaged_configuration(finished):
    (finished / "config.json").write_text('{"seed": ')
    refused(finished, CONFIG, True, r"config\.json: is damaged", StorageError)


@pytest.mark.parametrize("place", ["run", "a/b/run", "empty"])
def test_full_disk_at_any_moment_leaves_nothing(place, tmp_path, monkeypatch):
    (tmp_path / "empty").mkdir()
    before, real, failed = tree(tmp_path), os.fsync, 0
    for moment in range(20):
        calls = []

        def fsync(handle, calls=calls, moment=moment):
            calls.append(handle)
            if len(calls) == moment + 1:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            real(handle)

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", fsync)
            patch.setattr(rundir, "manifest", lambda mark: {"fingerprint": mark})
            try:
                RunDirectory.open(tmp_path / place, CONFIG, resume=False).close()
                break
            except StorageError as error:
                assert "No space left" in str(error)
                assert "run it again; no checkpoint had been written" in str(error)
                failed += 1
        assert tree(tmp_path) == before
    assert failed >= 4


@pytest.mark.parametrize("place", ["run", "a/b/run", "empty"])
def test_a_place_where_nothing_began_is_given_up(place, tmp_path):
    (tmp_path / "empty").mkdir()
    before = tree(tmp_path)
    with RunDirectory.claim(tmp_path / place, resume=False):
        refused(tmp_path / place, CONFIG, False, "is in use by another live run")
    assert tree(tmp_path) == before
    with RunDirectory.claim(tmp_path / place, resume=False) as run:
        run.begin(CONFIG)
    assert sorted(tree(tmp_path / place)) == FILES


def test_interrupted_opening_leaves_nothing(tmp_path, monkeypatch):
    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(rundir, "manifest", interrupt)
    with pytest.raises(KeyboardInterrupt):
        RunDirectory.open(tmp_path / "run", CONFIG, resume=False)
    assert not list(tmp_path.iterdir())


def test_a_run_killed_before_its_manifest_can_be_resumed(finished):
    (finished / "manifest.json").unlink()
    leftover = finished / TEMPORARY.replace("*", "0123")
    leftover.touch()
    with RunDirectory.open(finished, CONFIG, resume=True) as run:
        assert run.read_manifest()["fingerprint"] == fingerprint(CONFIG)
    assert not leftover.exists()


def test_the_same_process_cannot_open_twice(tmp_path):
    with RunDirectory.open(tmp_path / "run", CONFIG, resume=False) as run:
        for resume in (False, True):
            message = refused(tmp_path / "run", CONFIG, resume, "is in use by another live run")
            assert f"(process {os.getpid()})" in message
            with pytest.raises(InputError, match="is in use by another live run"):
                RunDirectory(tmp_path / "run").require_possible(resume)
        run.close()
        with RunDirectory.open(tmp_path / "run", CONFIG, resume=True):
            run.close()
            refused(tmp_path / "run", CONFIG, True, "is in use")


HOLDING = """
import sys
from fenchel.errors import InputError
from fenchel.training.rundir import RunDirectory

print("ready", flush=True)
sys.stdin.readline()
try:
    with RunDirectory.open(sys.argv[1], {"seed": 0}, resume=False):
        print("holds", flush=True)
        sys.stdin.readline()
except InputError as error:
    print(error, flush=True)
"""


def test_of_two_processes_one_gets_the_directory_and_a_killed_one_frees_it(tmp_path):
    path = tmp_path / "run"
    pair = [snippet(HOLDING, path) for _ in range(2)]
    for process in pair:
        assert process.stdout.readline() == "ready\n"
    for process in pair:
        process.stdin.write("go\n")
        process.stdin.flush()
    said = {process: process.stdout.readline() for process in pair}
    [winner] = [process for process in pair if said[process] == "holds\n"]
    [loser] = [process for process in pair if process is not winner]
    assert "is in use by another live run" in said[loser]
    message = refused(path, {"seed": 0}, True, "is in use")
    assert f"(process {winner.pid})" in message
    winner.send_signal(signal.SIGKILL)
    winner.communicate(timeout=60)
    loser.communicate(timeout=60)
    assert sorted(tree(path)) == [".lock", *FILES]
    with RunDirectory.open(path, {"seed": 0}, resume=True):
        refused(path, {"seed": 0}, True, "is in use")
    assert sorted(tree(path)) == FILES


COUNTING = """
import sys, time
from pathlib import Path
from fenchel.errors import InputError
from fenchel.training.lock import acquire, release

home, got = Path(sys.argv[1]), 0
while got < 100:
    try:
        handle = acquire(home)
    except InputError:
        time.sleep(0)
        continue
    count = home / "count"
    count.write_text(str(int(count.read_text()) + 1))
    release(home, handle)
    got += 1
"""


def test_the_lock_excludes_although_its_file_comes_and_goes(tmp_path):
    (tmp_path / "count").write_text("0")
    workers = [snippet(COUNTING, tmp_path) for _ in range(2)]
    for worker in workers:
        worker.communicate(timeout=60)
    assert tree(tmp_path) == {"count": b"200"}


values = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
documents = st.recursive(
    values, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8
)


@given(st.dictionaries(st.text(), documents, max_size=4))
@settings(max_examples=30, deadline=None)
def test_any_configuration_can_be_resumed(config):
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(rundir, "manifest", lambda mark: {"fingerprint": mark})
        for resume in (False, True):
            with RunDirectory.open(f"{folder}/run", config, resume=resume) as run:
                assert fingerprint(run.read_config()) == fingerprint(config)
