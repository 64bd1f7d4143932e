"""Arrays come back to the bit or not at all, and the last good checkpoint survives whatever happens."""

import errno
import json
import os
import random
import signal
import string
import subprocess
import sys
import time
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fenchel.errors import InputError, StorageError
from fenchel.training.atomic import TEMPORARY
from fenchel.training.storage import (
    Checkpoints,
    DamagedCheckpointWarning,
    DamagedFileError,
    load_arrays,
    read_json,
    save_arrays,
    write_atomic,
    write_json,
)

LONG = "checkpoint-00000000000"
KINDS = ("bool", *(f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64)))
FLOATS = ("float16", "float32", "float64", "complex64")
BY_BITS = {
    "bfloat16": (np.uint16, ml_dtypes.bfloat16),
    "e4m3": (np.uint8, ml_dtypes.float8_e4m3fn),
    "e5m2": (np.uint8, ml_dtypes.float8_e5m2),
}

shapes = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
plain_arrays = st.sampled_from(KINDS + FLOATS).flatmap(lambda kind: hnp.arrays(kind, shapes))
bit_arrays = st.sampled_from(sorted(BY_BITS)).flatmap(
    lambda kind: hnp.arrays(BY_BITS[kind][0], shapes).map(lambda bits: bits.view(BY_BITS[kind][1]))
)
names = st.text(max_size=12).filter(lambda name: name != "__metadata__")
documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
metas = st.dictionaries(st.text(), documents, max_size=4)


def same(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> bool:
    return a.keys() == b.keys() and all(
        a[k].dtype == b[k].dtype and a[k].shape == b[k].shape and a[k].tobytes() == b[k].tobytes() for k in a
    )


def text(document: object) -> str:
    return json.dumps(document, sort_keys=True)


def example(scale: float = 1.0) -> dict[str, np.ndarray]:
    return {
        "theta": scale * np.arange(6.0).reshape(2, 3),
        "half": np.ones(3, ml_dtypes.bfloat16),
        "dual": np.asarray(scale, np.float32),
        "count": np.array([3, 4], np.uint32),
        "none": np.zeros((0, 2)),
    }


def snippet(code: str, *arguments: object, **options: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options)


@given(st.dictionaries(names, plain_arrays | bit_arrays, max_size=4), metas)
@settings(deadline=None)
def test_arrays_round_trip(arrays, meta):
    with TemporaryDirectory() as folder:
        save_arrays(f"{folder}/a", arrays, meta)
        loaded, found = load_arrays(f"{folder}/a")
        assert same(arrays, loaded)
        assert text(found) == text(meta)
        assert all(array.flags.writeable for array in loaded.values())
        first = Path(folder, "a").read_bytes()
        save_arrays(f"{folder}/b", dict(reversed(arrays.items())), meta)
        assert first == Path(folder, "b").read_bytes()


@pytest.mark.parametrize(
    "array",
    [
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(10)[::-3],
        np.array([1.5, -2.0], ">f4"),
        np.broadcast_to(np.float32(2), (3,)),
    ],
)
def test_any_memory_layout(array, tmp_path):
    save_arrays(tmp_path / "a", {"x": array}, {})
    loaded = load_arrays(tmp_path / "a")[0]["x"]
    np.testing.assert_array_equal(loaded, array)
    assert loaded.dtype == array.dtype.newbyteorder("=")


def test_meta_is_normalised_before_it_is_hashed(tmp_path):
    save_arrays(tmp_path / "a", {"x": np.float32(2)}, {"shape": (1, 2), "by_size": {10: 1, 9: np.float64(2)}})
    arrays, meta = load_arrays(tmp_path / "a")
    assert meta == {"shape": [1, 2], "by_size": {"10": 1, "9": 2.0}}
    assert arrays["x"].shape == ()


@pytest.mark.parametrize(
    "arrays",
    [{"x": np.ones(2, complex)}, {"x": np.array(["a"])}, {"x": np.array([{}])}, {"__metadata__": 1.0}],
)
def test_what_cannot_be_stored_is_refused(arrays, tmp_path):
    with pytest.raises(InputError, match="arrays"):
        save_arrays(tmp_path / "a", arrays, {})
    assert not list(tmp_path.iterdir())


def test_meta_that_is_no_json_is_refused(tmp_path):
    with pytest.raises(InputError, match="JSON"):
        save_arrays(tmp_path / "a", {}, {"x": object()})


def detected_or_harmless(path: Path, data: bytes, original: dict[str, np.ndarray], meta: object) -> bool:
    path.write_bytes(data)
    try:
        loaded, found = load_arrays(path)
    except DamagedFileError as error:
        assert str(path) in str(error)
        return True
    return same(original, loaded) and found == meta


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    path = tmp_path_factory.mktemp("stored") / "checkpoint"
    save_arrays(path, example(), {"iteration": 7, "note": "π"})
    return path, path.read_bytes(), {"iteration": 7, "note": "π"}


@pytest.mark.parametrize("mask", [1, 32, 255])
def test_every_flipped_byte_is_noticed(stored, mask):
    path, data, meta = stored
    for position in range(len(data)):
        flipped = bytearray(data)
        flipped[position] ^= mask
        assert detected_or_harmless(path, bytes(flipped), example(), meta), position


def test_every_truncation_is_noticed(stored):
    path, data, _ = stored
    for size in range(len(data)):
        path.write_bytes(data[:size])
        with pytest.raises(DamagedFileError):
            load_arrays(path)


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_any_replaced_stretch_is_noticed(stored, data):
    path, original, meta = stored
    start = data.draw(st.integers(0, len(original)))
    stop = data.draw(st.integers(start, min(len(original), start + 20)))
    junk = data.draw(st.binary(max_size=20) | st.text(string.printable, max_size=20).map(str.encode))
    assert detected_or_harmless(path, original[:start] + junk + original[stop:], example(), meta)


@given(st.binary(max_size=200))
def test_alien_files_are_refused(data):
    with TemporaryDirectory() as folder:
        Path(folder, "alien").write_bytes(data)
        with pytest.raises(DamagedFileError, match="alien"):
            load_arrays(f"{folder}/alien")


@given(documents)
def test_json_round_trip(document):
    with TemporaryDirectory() as folder:
        write_json(f"{folder}/x.json", document)
        assert json.dumps(read_json(f"{folder}/x.json"), sort_keys=True) == json.dumps(
            document, sort_keys=True
        )


def test_json_takes_numbers_of_numpy(tmp_path):
    write_json(tmp_path / "x", {"a": np.float32(0.5), "b": np.arange(2), "c": ml_dtypes.bfloat16(2)})
    assert read_json(tmp_path / "x") == {"a": 0.5, "b": [0, 1], "c": 2.0}


@pytest.mark.parametrize("content", [b"", b'{"a": 1', b"\xff\xfe", b"[" * 100_000])
def test_damaged_json_names_the_file(content, tmp_path):
    (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(DamagedFileError, match=r"x\.json"):
        read_json(tmp_path / "x.json")


def test_missing_and_forbidden_places_are_named(tmp_path):
    with pytest.raises(StorageError, match=r"missing.*could not be read.*exists"):
        load_arrays(tmp_path / "missing")
    with pytest.raises(StorageError, match=r"nowhere.*could not be written"):
        write_atomic(tmp_path / "nowhere" / "x", b"")
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageError, match="could not be made"):
        Checkpoints(tmp_path / "file" / "below").save(1, {}, {})


@pytest.mark.parametrize("fault", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_failed_write_keeps_the_old_file_and_no_other(fault, call, tmp_path, monkeypatch):
    def fail(*_):
        raise fault

    path = tmp_path / "x"
    write_atomic(path, b"old")
    monkeypatch.setattr(*((os, "fsync") if call == "fsync" else (Path, "replace")), fail)
    wanted = KeyboardInterrupt if isinstance(fault, KeyboardInterrupt) else StorageError
    with pytest.raises(wanted) as caught:
        write_atomic(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
    if wanted is StorageError:
        message = str(caught.value)
        assert all(
            part in message for part in (str(path), "No space left", "free some space and run it again")
        )
        assert "\n" not in message


def test_directories_that_cannot_be_synced_do_not_matter(tmp_path, monkeypatch):
    real, calls = os.fsync, []

    def fsync(handle):
        calls.append(handle)
        if len(calls) % 2 == 0:
            raise OSError(errno.EINVAL, "Invalid argument")
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    write_atomic(tmp_path / "x", b"new")
    assert (tmp_path / "x").read_bytes() == b"new" and len(calls) == 2


def test_written_files_have_the_usual_permissions(tmp_path):
    write_atomic(tmp_path / "x", b"")
    (tmp_path / "y").touch()
    assert (tmp_path / "x").stat().st_mode == (tmp_path / "y").stat().st_mode


def test_keeps_the_newest(tmp_path):
    checkpoints = Checkpoints(tmp_path / "run", keep=2)
    assert checkpoints.load() is None
    for iteration in (0, 999, 1000, 10**12, 10**12 + 1):
        checkpoints.save(iteration, example(iteration), {"iteration": iteration})
    assert sorted(checkpoints.paths()) == [10**12, 10**12 + 1]
    arrays, meta = checkpoints.load()
    assert meta == {"iteration": 10**12 + 1} and same(arrays, example(10**12 + 1))


def test_other_files_are_left_alone(tmp_path):
    others = [
        "checkpoint-1.safetensors",
        "checkpoint-abc.safetensors",
        "checkpoint-000000000001.safetensors.old",
    ]
    for name in others:
        (tmp_path / name).touch()
    checkpoints = Checkpoints(tmp_path, keep=1)
    checkpoints.save(5, {}, {})
    checkpoints.save(6, {}, {})
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(
        [*others, "checkpoint-000000000006.safetensors"]
    )


@pytest.mark.parametrize("keep", [0, -1, 1.5, True])
def test_keep_must_be_a_count(keep, tmp_path):
    with pytest.raises(InputError, match="keep"):
        Checkpoints(tmp_path, keep=keep)


def test_damaged_one_is_passed_over_and_then_replaced(tmp_path):
    checkpoints = Checkpoints(tmp_path, keep=1)
    checkpoints.save(200, example(), {"iteration": 200})
    damaged = (tmp_path / "checkpoint-000000000200.safetensors").read_bytes()[:-1]
    checkpoints.save(100, example(), {"iteration": 100})
    (tmp_path / "checkpoint-000000000200.safetensors").write_bytes(damaged)
    with pytest.warns(DamagedCheckpointWarning, match="000000000200"):
        assert checkpoints.load()[1] == {"iteration": 100}
    checkpoints.save(150, example(), {"iteration": 150})
    assert sorted(checkpoints.paths()) == [150]
    assert checkpoints.load()[1] == {"iteration": 150}


def test_all_damaged_is_an_error(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    for iteration in (1, 2):
        checkpoints.save(iteration, example(), {})
    for path in checkpoints.paths().values():
        path.write_bytes(b"")
    with (
        pytest.warns(DamagedCheckpointWarning),
        pytest.raises(StorageError, match="none of its 2 checkpoints"),
    ):
        checkpoints.load()


FULL_DISK = """
import resource, sys
import numpy as np
from fenchel.errors import StorageError
from fenchel.training.storage import Checkpoints

checkpoints = Checkpoints(sys.argv[1])
checkpoints.save(1, {"theta": np.ones(1000)}, {"iteration": 1})
resource.setrlimit(resource.RLIMIT_FSIZE, (16384, 16384))
try:
    checkpoints.save(2, {"theta": np.ones(100_000)}, {"iteration": 2})
except StorageError as error:
    print(error)
"""


def test_full_disk_leaves_the_last_good_checkpoint(tmp_path):
    said, _ = snippet(FULL_DISK, tmp_path).communicate(timeout=60)
    assert "000000000002.safetensors: could not be written (File too large); free some space" in said
    assert len(said.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint-000000000001.safetensors"]
    arrays, meta = Checkpoints(tmp_path).load()
    assert meta == {"iteration": 1} and same(arrays, {"theta": np.ones(1000)})


def test_full_disk_at_sync_leaves_the_last_good_checkpoint(tmp_path, monkeypatch):
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(1, example(), {"iteration": 1})

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StorageError, match="free some space"):
            checkpoints.save(2, example(2), {"iteration": 2})
    assert sorted(checkpoints.paths()) == [1]
    assert checkpoints.load()[1] == {"iteration": 1}
    checkpoints.save(2, example(2), {"iteration": 2})
    assert checkpoints.load()[1] == {"iteration": 2}


SAVING = """
import itertools, sys
import numpy as np
from fenchel.training.storage import Checkpoints

checkpoints = Checkpoints(sys.argv[1])
found = checkpoints.load()
for iteration in itertools.count(found[1]["iteration"] + 1 if found else 0):
    checkpoints.save(iteration, {"theta": np.full(300_000, iteration)}, {"iteration": iteration})
    print(iteration, flush=True)
"""


def test_killed_while_saving(tmp_path):
    """Whatever moment the process is killed at, the newest checkpoint is whole and no older than reported."""
    moments = random.Random(0)
    for _ in range(4):
        writer = snippet(SAVING, tmp_path)
        reported = int(writer.stdout.readline())
        time.sleep(moments.uniform(0, 0.03))
        writer.kill()
        reported = max([reported, *map(int, writer.communicate()[0].split("\n")[:-1])])
        with warnings.catch_warnings(action="error"):
            arrays, meta = Checkpoints(tmp_path).load()
        assert meta["iteration"] >= reported
        assert same(arrays, {"theta": np.full(300_000, meta["iteration"])})


KILLED_AT_SYNC = """
import os, signal, sys
from fenchel.training.storage import Checkpoints

def die(handle):
    calls.append(handle)
    if len(calls) == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)

calls, os.fsync = [], die
checkpoints = Checkpoints(sys.argv[1], keep=1)
for iteration in (1, 2):
    checkpoints.save(iteration, {}, {"iteration": iteration})
"""


@pytest.mark.parametrize(("call", "found"), [(1, None), (2, 1), (3, 1), (4, 2)])
def test_killed_at_each_stage_of_a_save(call, found, tmp_path):
    """The calls are: data of 1, name of 1, data of 2, name of 2 (before 1 is removed)."""
    process = snippet(KILLED_AT_SYNC, tmp_path, call)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    loaded = Checkpoints(tmp_path).load()
    assert (loaded and loaded[1]["iteration"]) == found
    assert len(list(tmp_path.glob(TEMPORARY))) == call % 2
