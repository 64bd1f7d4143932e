"""`--figure`: what can be drawn is drawn whole, and what cannot is refused before anything is learned."""

import importlib.util
import json
from pathlib import Path

import pytest

from fenchel.cli import figure
from fenchel.cli.main import main

LEARN = [
    *("train", "option", "--episodes", "200", "--batch-size", "100", "--evaluate-episodes", "100"),
    *("--policy-step-size", "0.1", "--quiet"),
]
MAGIC = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF", ".PNG": b"\x89PNG"}


def refused(capsys, path, message):
    before = set(Path().rglob("*"))
    assert main([*LEARN, "--out", "run", "--figure", path]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"fenchel: error: figure = {path!r}: {message}")
    assert set(Path().rglob("*")) == before


@pytest.mark.parametrize("suffix", MAGIC)
def test_formats(capsys, suffix):
    pytest.importorskip("matplotlib")
    path = Path(f"plot{suffix}")
    path.write_bytes(b"old")
    assert main([*LEARN, "--json", "--figure", str(path)]) == 0
    assert json.loads(capsys.readouterr().out)["figure"] == str(path)
    assert path.read_bytes().startswith(MAGIC[suffix])
    assert list(Path().iterdir()) == [path]


def test_every_figure_is_closed(capsys):
    plt = pytest.importorskip("matplotlib.pyplot")
    before = plt.get_fignums()
    assert main([*LEARN, "--figure", "plot.svg"]) == 0
    assert plt.get_fignums() == before
    assert "option, mvp, λ = 1" in Path("plot.svg").read_text()


def test_without_matplotlib(capsys, monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(figure, "find_spec", lambda name: None if name == "matplotlib" else found(name))
    refused(capsys, "plot.png", "needs matplotlib: pip install matplotlib")


def test_places_that_cannot_be_written(capsys, monkeypatch):
    Path("folder.png").mkdir()
    refused(capsys, "folder.png", "is a directory; name a file")
    Path("file").write_text("")
    refused(capsys, "file/plot.png", "needs the directory 'file', which does not exist")
    monkeypatch.setattr(figure.os, "access", lambda *_: False)
    refused(capsys, "plot.png", "the directory '.' is read-only")


def test_a_failed_write_keeps_the_old_figure(capsys, monkeypatch):
    pytest.importorskip("matplotlib")
    Path("plot.png").write_bytes(b"old")

    def full(path, data):
        path.write_bytes(data[:100])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("fenchel.training.atomic._write_synced", full)
    assert main([*LEARN, "--json", "--figure", "plot.png"]) == 2
    out, err = capsys.readouterr()
    assert json.loads(out)["status"] == "done"
    assert "No space left on device" in err
    assert Path("plot.png").read_bytes() == b"old"
    assert list(Path().iterdir()) == [Path("plot.png")]
