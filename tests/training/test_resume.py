"""A run that is killed or interrupted, and resumed, ends as if nothing had happened."""

import json
import os
import signal
import subprocess
import sys
import threading
import warnings

import jax
import numpy as np
import pytest
from training.support import assert_same

from fenchel import InputError, Interrupted, StorageError, make, sweep, train
from fenchel.training import RunDirectory
from fenchel.training.parts import Parts
from fenchel.training.storage import DamagedCheckpointWarning

pytestmark = pytest.mark.slow

OFTEN = 1e-9
"""Seconds between checkpoints: one after every chunk."""
RUNS = {
    "mvp": {"episodes": 6000},
    "adam, uniform": {
        "episodes": 12_000,
        "batch_size": 4,
        "optimizer": "adam",
        "output": "uniform",
        "control_variate": "batch",
        "policy_step_size": 0.05,
    },
    "tamar, best, decaying": {
        "algorithm": "tamar",
        "episodes": 6000,
        "output": "best",
        "validation_every": 100,
        "validation_episodes": 10,
        "schedule": "robbins-monro",
        "policy_step_size": 0.2,
    },
    "sweep": {"seed": [0, 1, 2], "episodes": 3000, "fresh_batch": True, "policy_step_size": 0.1},
}
KILLED = """
import json, os, signal, sys
from pathlib import Path
from fenchel import make, sweep, train

how, out, moment, count = json.loads(sys.argv[1]), *sys.argv[2:4], int(sys.argv[4])
replace, left = Path.replace, [count]

def now():
    left[0] -= 1
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)

def replacing(self, target):
    if moment == "before a file is put in place":
        now()
    replace(self, target)
    if moment == "after a file is put in place":
        now()

Path.replace = replacing
run = sweep if isinstance(how.get("seed"), list) else train
callbacks = [lambda snapshot: now()] if moment == "between chunks" else []
run(make("option", horizon=6), **how, out=out, checkpoint_seconds=1e-9, records=10, callbacks=callbacks)
"""


def go(name, out=None, resume=False, **more):
    how = {**RUNS[name], "records": 10, "checkpoint_seconds": OFTEN, "out": out, "resume": resume, **more}
    run = sweep if isinstance(how.get("seed"), list) else train
    return run(make("option", horizon=6), **how)


def assert_equal_runs(one, two):
    for left, right in zip(getattr(one, "rows", [one]), getattr(two, "rows", [two]), strict=True):
        assert_same(left, right)
        assert (left.status, left.episodes) == (right.status, right.episodes)


@pytest.mark.parametrize(
    ("name", "moment", "count"),
    [
        ("mvp", "between chunks", 1),
        ("mvp", "before a file is put in place", 5),
        ("mvp", "after a file is put in place", 21),
        ("adam, uniform", "between chunks", 6),
        ("tamar, best, decaying", "before a file is put in place", 12),
        ("sweep", "between chunks", 9),
    ],
)
def test_a_killed_run_ends_as_the_uninterrupted_one(name, moment, count, tmp_path):
    """Killed before the first checkpoint, between two, and while a file is written: equal to the bit."""
    settings = json.dumps(RUNS[name]), str(tmp_path / "killed"), moment, str(count)
    environment = {**os.environ, "JAX_ENABLE_X64": "1"}
    process = subprocess.run([sys.executable, "-c", KILLED, *settings], env=environment, check=False)
    assert process.returncode == -signal.SIGKILL
    assert RunDirectory(tmp_path / "killed").read_result() is None
    last = max(RunDirectory(tmp_path / "killed").checkpoints.paths(), default=0)
    seen = []
    resumed = go(name, tmp_path / "killed", resume=True, callbacks=[seen.append])
    assert last < seen[0].iteration <= last + Parts.first_chunk
    assert (last == 0) == (count == 1)
    whole = go(name, tmp_path / "whole")
    assert_equal_runs(resumed, whole)
    assert lasting(tmp_path / "killed") == lasting(tmp_path / "whole")


def lasting(out):
    """What the files say that depends on the configuration alone: no times, no older checkpoint."""
    run = RunDirectory(out)
    files = {name: (out / name).read_bytes() for name in ("config.json", "metrics.jsonl")}
    arrays, about = run.checkpoints.load()
    plain = {name: (array.dtype, array.shape, array.tobytes()) for name, array in arrays.items()}
    result = run.read_result()
    assert 0 < about.pop("seconds") <= result.pop("seconds")
    return {**files, **plain, "checkpoint": about, "result": result}


def stopped(name, out, iteration):
    """A run that somebody stopped, with two checkpoints on disk."""
    result = go(name, out, callbacks=[lambda snapshot: snapshot.iteration >= iteration])
    assert result.status == "stopped" and result.episodes < RUNS[name]["episodes"]
    return sorted(out.glob("checkpoint-*"))


@pytest.mark.parametrize("damage", ["truncated", "altered", "empty"])
def test_a_damaged_newest_checkpoint_is_passed_over_for_the_one_before(damage, tmp_path):
    older, newest = stopped("adam, uniform", tmp_path / "run", 1000)
    data = newest.read_bytes()
    half = len(data) // 2
    flipped = data[:half] + bytes([data[half] ^ 1]) + data[half + 1 :]
    newest.write_bytes({"truncated": data[:half], "altered": flipped, "empty": b""}[damage])
    with pytest.warns(DamagedCheckpointWarning, match=f"{newest.name}: .*passed over for the one before"):
        resumed = go("adam, uniform", tmp_path / "run", resume=True)
    assert older.name < newest.name
    assert_equal_runs(resumed, go("adam, uniform"))


def test_with_no_good_checkpoint_left_nothing_is_begun_anew(tmp_path):
    for path in stopped("mvp", tmp_path / "run", 500):
        path.write_bytes(path.read_bytes()[:100])
    with (
        warnings.catch_warnings(),
        pytest.raises(StorageError, match="none of its 2 checkpoints can be read"),
    ):
        warnings.simplefilter("ignore", DamagedCheckpointWarning)
        go("mvp", tmp_path / "run", resume=True)


def test_another_configuration_is_refused_with_its_differences(tmp_path):
    stopped("mvp", tmp_path / "run", 500)
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    with pytest.raises(InputError, match="another configuration") as caught:
        go("mvp", tmp_path / "run", resume=True, seed=1, risk_aversion=0.25, batch_size=2)
    message = str(caught.value)
    for part in ("seed: 0 → 1", "risk_aversion: 1.0 → 0.25", "batch_size: 1 → 2", "iterations: 6000 → 3000"):
        assert part in message
    assert "\n" not in message
    assert {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()} == before
    assert_equal_runs(go("mvp", tmp_path / "run", resume=True), go("mvp"))


def test_more_episodes_are_another_configuration(tmp_path):
    go("mvp", tmp_path / "run")
    with pytest.raises(InputError, match="iterations: 6000 → 9000"):
        go("mvp", tmp_path / "run", resume=True, episodes=9000)


def test_a_finished_run_resumed_is_the_same_and_plays_nothing(tmp_path):
    first = go("mvp", tmp_path / "run")
    again = go("mvp", tmp_path / "run", resume=True, callbacks=[pytest.fail])
    assert_equal_runs(again, first)


@pytest.mark.parametrize("name", ["mvp", "sweep"])
def test_seconds_are_those_of_all_sessions(name, tmp_path):
    half = go(name, tmp_path / "run", callbacks=[lambda snapshot: snapshot.iteration >= 500])
    store = RunDirectory(tmp_path / "run")
    before = store.checkpoints.load()[1]["seconds"]
    assert 0 < before <= half.seconds == store.read_result()["seconds"]
    whole = go(name, tmp_path / "run", resume=True)
    assert whole.seconds > before
    at_rest = go(name, tmp_path / "run", resume=True)
    assert at_rest.seconds >= store.checkpoints.load()[1]["seconds"] > before


@pytest.mark.parametrize("name", ["mvp", "sweep"])
def test_the_directory_says_how_the_run_ended(name, tmp_path):
    result = go(name, tmp_path / "run")
    said = RunDirectory(tmp_path / "run").read_result()
    rows = len(getattr(result, "rows", [result]))
    assert said == {
        "status": "done",
        "iteration": result.metrics["iteration"][-1],
        "episodes": result.episodes,
        "seconds": result.seconds,
        "fault": None if name == "mvp" else [None] * rows,
    }


def test_resume_needs_a_run_and_a_directory(tmp_path):
    with pytest.raises(InputError, match="resume = True: needs the directory"):
        go("mvp", resume=True)
    with pytest.raises(InputError, match="out = "):
        go("mvp", tmp_path / "nothing", resume=True)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["adam, uniform", "sweep"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_is_saved_and_can_be_resumed(name, number, tmp_path):
    def interrupt(snapshot):
        if snapshot.iteration >= 500:
            signal.raise_signal(number)

    handlers = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt) as caught:
        go(name, tmp_path / "run", checkpoint_seconds=1000.0, callbacks=[interrupt])
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == handlers
    assert isinstance(caught.value, Interrupted)
    partial = caught.value.result
    assert partial.status == "interrupted"
    assert RunDirectory(tmp_path / "run").read_result()["status"] == "interrupted"
    assert len(list((tmp_path / "run").glob("checkpoint-*"))) == 1
    for row in getattr(partial, "rows", [partial]):
        assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(row.policy))
        assert row.episodes < RUNS[name]["episodes"]
    assert_equal_runs(go(name, tmp_path / "run", resume=True), go(name))


def test_a_second_interrupt_does_not_wait():
    def twice(snapshot):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as caught:
        go("mvp", callbacks=[twice])
    assert not isinstance(caught.value, Interrupted)


def test_an_interrupt_in_the_last_chunk_changes_nothing():
    def late(snapshot):
        if snapshot.iteration == snapshot.iterations:
            signal.raise_signal(signal.SIGINT)

    assert go("mvp", callbacks=[late]).status == "done"


def test_outside_the_main_thread_signals_are_left_alone():
    found = []
    worker = threading.Thread(target=lambda: found.append(go("mvp", episodes=200)))
    worker.start()
    worker.join()
    assert found[0].status == "done"
