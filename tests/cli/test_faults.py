"""Runs in the real world: full disks, directories in use, damaged files, interrupts at bad moments."""

import errno
import json
import sys
import warnings
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import fenchel
from fenchel.cli.clock import covered
from fenchel.cli.main import main
from fenchel.cli.train import make_environment, read_request
from fenchel.training import atomic
from fenchel.training.rundir import RunDirectory
from fenchel.training.sample import Sample

LEARN = [
    *("train", "option", "--episodes", "2000", "--batch-size", "100", "--evaluate-episodes", "100"),
    *("--policy-step-size", "0.1", "--checkpoint-seconds", "1e-9", "--quiet", "--json"),
]


def files(directory):
    return {path.name: path.read_bytes() for path in Path(directory).iterdir()}


def printed(capsys, words, code=0):
    assert main(words) == code
    return json.loads(capsys.readouterr().out)


def complaint(capsys, words):
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    return err


def test_full_disk(capsys, monkeypatch):
    write, written = atomic._write_synced, []

    def fill_up(path, data):
        written.append(path)
        if len(written) > 12:
            path.write_bytes(data[: len(data) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")
        write(path, data)

    with monkeypatch.context() as patch:
        patch.setattr(atomic, "_write_synced", fill_up)
        err = complaint(capsys, [*LEARN, "--out", "run"])
    assert "No space left on device" in err
    assert "free some space and resume; the last good checkpoint is kept" in err
    assert list(Path("run").glob("checkpoint-*")) and not list(Path("run").glob(".*"))
    assert 0 < fenchel.load("run").episodes < 2000
    resumed = printed(capsys, [*LEARN, "--out", "run", "--resume"])
    whole = printed(capsys, LEARN)
    for key in ("mean", "std", "value", "dual", "episodes", "status"):
        assert resumed[key] == whole[key]


def test_full_disk_before_the_first_checkpoint(capsys, monkeypatch):
    def full(path, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(atomic, "_write_synced", full)
    err = complaint(capsys, [*LEARN, "--out", "run"])
    assert "free some space and run it again; no checkpoint had been written" in err
    assert not Path("run").exists()


def test_full_standard_output(monkeypatch, capfd):
    with Path("/dev/full").open("w") as full, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", full)
        assert main(["--version"]) == 2
    assert "standard output: could not be written (No space left on device)" in capfd.readouterr().err


def test_directory_in_use(capsys):
    printed(capsys, [*LEARN, "--out", "run"])
    config = fenchel.load("run").provenance["config"]
    for more in ([], ["--resume"]):
        with RunDirectory.open("run", config, resume=True):
            err = complaint(capsys, [*LEARN, "--out", "run", *more])
        assert err.startswith("fenchel: error: out = 'run': is in use by another live run (process ")


def test_another_configuration(capsys):
    printed(capsys, [*LEARN, "--out", "run"])
    before = files("run")
    words = ["--risk-aversion", "0.5", "--env.put-strike", "1.1", "--resume", "--out", "run"]
    err = complaint(capsys, [*LEARN, *words])
    assert "was run with another configuration" in err
    assert "risk_aversion: 1.0 → 0.5" in err and "put_strike: 1.0 → 1.1" in err
    assert files("run") == before


def test_damaged_run(capsys):
    printed(capsys, [*LEARN, "--out", "run"])
    Path("run/config.json").write_text("{")
    assert "config.json: is damaged" in complaint(capsys, ["evaluate", "run"])


def test_damaged_checkpoint_is_passed_over(capsys):
    printed(capsys, [*LEARN, "--out", "run"])
    newest = max(Path("run").glob("checkpoint-*"))
    newest.write_bytes(newest.read_bytes()[:-8])
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert main(["evaluate", "run", "--episodes", "100", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["training_episodes"] < 2000
    assert err.startswith(f"fenchel: warning: {newest}: ") and err.count("\n") == 1


@pytest.mark.parametrize("out", [[], ["--out", "run"], ["--out", "run", "--resume"]], ids=len)
def test_interrupted_while_compiling(capsys, monkeypatch, out):
    def interrupt(self, start, stop):
        raise KeyboardInterrupt

    if "--resume" in out:
        printed(capsys, [*LEARN, "--out", "run"])
    monkeypatch.setattr("fenchel.training.parts.Parts.advance", interrupt)
    assert main([*LEARN, *out]) == 130
    printed_, err = capsys.readouterr()
    assert (printed_, err.count("\n")) == ("", 1)
    if out:
        again = err.strip().partition("to go on: ")[2].split()
        assert again == ["fenchel", *LEARN, "--out", "run", "--resume"]
    else:
        assert "nothing was saved, as --out was not given" in err


def test_numbers_that_json_does_not_have(capsys, monkeypatch):
    returns = np.array([1.0, np.inf, 2.0, -np.inf])
    sample = Sample(returns, np.zeros((4, 2)), np.zeros(4), np.ones(4))
    for module in ("evaluate", "result"):
        place = import_module(f"fenchel.training.{module}")
        monkeypatch.setattr(place, "sample_episodes", lambda *_, **__: sample)
    assert main([*LEARN, "--out", "run", "--figure", "plot.png"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["mean"] is None
    assert err == "fenchel: no figure: returns of the policy are not finite\n"
    found = printed(capsys, ["evaluate", "run", "--json"])
    assert (found["std"], found["value"], found["quantiles"]["0.05"]) == (None, None, None)


def test_environment_in_the_file(capsys):
    Path("study.toml").write_text("environment = 'stopping'\nseed = 4\n[env]\nwaiting-cost = 0.05\n")
    filed, settings, given = read_request(["--config", "study.toml"])
    flagged, wanted, asked = read_request(["stopping", "--seed=4", "--env.waiting-cost=0.05"])
    assert replace(filed, config=None) == flagged
    assert settings == wanted
    assert make_environment(filed, given) == make_environment(flagged, asked)
    assert main(["train", "--config", "study.toml", "--help"]) == 0
    assert "--env.waiting-cost" in capsys.readouterr().out
    err = complaint(capsys, [*LEARN, "--config", "study.toml"])
    assert "env.waiting_cost = '0.05': is no parameter of the environment" in err


def test_file_without_an_environment(capsys):
    Path("study.toml").write_text("seed = 4\n")
    assert "ENVIRONMENT is missing" in complaint(capsys, ["train", "--config", "study.toml"])


def test_evaluation_tells_compiling_from_playing(capsys):
    printed(capsys, [*LEARN, "--out", "run"])
    found = printed(capsys, ["evaluate", "run", "--episodes", "1500", "--json"])
    assert found["compile_seconds"] >= 0 and found["seconds"] >= 0
    again = printed(capsys, ["evaluate", "run", "--episodes", "1500", "--json"])
    assert again["compile_seconds"] < 0.5


def test_union_of_spans():
    assert covered([]) == 0
    assert covered([(4, 5), (0, 2), (1, 3), (1, 2), (3, 3.5)]) == 4.5


@pytest.mark.parametrize("columns", [80, 120])
def test_nothing_is_cut_off(capsys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(["list"]) == 0
    out, _ = capsys.readouterr()
    assert "…" not in out
    assert max(map(len, out.splitlines())) <= columns
    for word in (
        "--env.default-probability",
        "--validation-episodes",
        "--env.cost-cap",
        "fenchel-mean-variance",
    ):
        assert word in out


def test_a_terminal_without_unicode(monkeypatch):
    with Path("out").open("w", encoding="ascii") as ascii_only, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", ascii_only)
        assert main(["list"]) == 0
    assert "--preset" in Path("out").read_text()


def test_the_file_in_the_readme(capsys):
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    Path("study.toml").write_text(readme.partition("```toml\n")[2].partition("```")[0])
    options, settings, given = read_request(["--config", "study.toml"])
    assert (options.environment, options.out) == ("stopping", Path("runs/study"))
    assert (settings.risk_aversion, settings.episodes) == (0.5, 200_000)
    assert make_environment(options, given).waiting_cost == 0.05
