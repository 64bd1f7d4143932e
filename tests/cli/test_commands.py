"""What the commands print, in process."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import fenchel
from fenchel.ascent import ALGORITHMS
from fenchel.cli.describe import algorithm_name
from fenchel.cli.main import main
from fenchel.cli.options import options_of
from fenchel.cli.train import choose_policy, make_environment, read_request
from fenchel.settings import Settings
from fenchel.training.config import describe

SMALL = [
    *("--episodes", "200", "--batch-size", "100", "--evaluate-episodes", "100", "--quiet"),
    *("--policy-step-size", "0.1"),
]
KEYS = {
    *("mean", "std", "value", "dual", "episodes", "seconds", "status", "standard_error", "compile_seconds"),
    *("environment", "algorithm", "objective", "risk_aversion", "seed", "fault", "out", "fingerprint"),
    "evaluation_episodes",
}


def strict(text):
    def refuse(token):
        raise AssertionError(token)

    assert text.count("\n") == 1
    return json.loads(text, parse_constant=refuse)


def record(capsys, *words):
    """The object that a command prints, and its exit code."""
    code = main([*words, "--json"])
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    return strict(out), code


@pytest.fixture
def saved(capsys):
    return record(capsys, "train", "option", *SMALL, "--seed", "3", "--out", "run")[0]


def test_train_equals_the_library(capsys, saved):
    assert saved.keys() >= KEYS
    result = fenchel.train("option", episodes=200, batch_size=100, seed=3, policy_step_size=0.1)
    assert saved["dual"] == result.dual
    assert saved["mean"] == result.evaluate(100).mean
    assert saved["value"] == result.evaluate(100).value
    assert saved["fingerprint"] == result.provenance["fingerprint"]
    assert (saved["episodes"], saved["evaluation_episodes"], saved["seed"]) == (200, 100, 3)
    assert (saved["status"], saved["fault"], saved["out"]) == ("done", None, "run")


def test_evaluate_agrees_with_train(capsys, saved):
    again, code = record(capsys, "evaluate", "run", "--episodes", "100")
    assert code == 0
    same = KEYS - {"episodes", "seconds", "compile_seconds", "seed"}
    assert {key: again[key] for key in same} == {key: saved[key] for key in same}
    assert (again["episodes"], again["training_episodes"], again["seed"]) == (100, 200, 0)
    levels = list(again["quantiles"].values())
    assert list(again["quantiles"]) == ["0.05", "0.25", "0.5", "0.75", "0.95"]
    assert levels == sorted(levels)


def test_evaluate_another_objective(capsys, saved):
    plain, _ = record(capsys, "evaluate", "run", "--episodes", "100", "--objective", "expectation")
    assert plain["value"] == pytest.approx(plain["mean"])
    assert plain["risk_aversion"] is None
    averse, _ = record(capsys, "evaluate", "run", "--episodes", "100", "--risk-aversion", "0.5")
    variance = averse["std"] ** 2 * 99 / 100
    assert averse["value"] == pytest.approx(averse["mean"] - 0.5 * variance)
    assert main(["evaluate", "run", "--objective", "expectation", "--risk-aversion", "1"]) == 2
    assert "has no effect on the objective" in capsys.readouterr().err


def test_tables(capsys, saved):
    assert main(["evaluate", "run", "--episodes", "100"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    for text in ("option", "mvp", "standard error", "quantile 0.95"):
        assert text in out
    assert main(["train", "option", *SMALL]) == 0
    out, _ = capsys.readouterr()
    for text in ("risk aversion", "compile seconds", "status", "done", "not saved"):
        assert text in out


def test_progress_and_json_do_not_mix(capsys):
    assert main(["train", "option", *SMALL, "--no-quiet", "--json"]) == 0
    out, err = capsys.readouterr()
    strict(out)
    assert "100%" in err


def test_out_is_taken(capsys, saved):
    assert main(["train", "option", *SMALL, "--out", "run", "--seed", "3", "--json"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("fenchel: error: out = 'run': already holds a run; add --resume")
    again, code = record(capsys, "train", "option", *SMALL, "--out", "run", "--seed", "3", "--resume")
    assert (code, again["mean"], again["dual"]) == (0, saved["mean"], saved["dual"])
    assert main(["train", "option", *SMALL, "--out", "run", "--seed", "4", "--resume"]) == 2
    assert "was run with another configuration" in capsys.readouterr().err


def test_diverged_is_printed(capsys):
    found, code = record(capsys, "train", "option", *SMALL, "--dual-step-size", "1e300")
    assert code == 3
    assert found["status"] == "diverged"
    assert "became non-finite" in found["fault"]
    assert found["dual"] is None or math.isfinite(found["dual"])


def test_a_table_sees_the_index(capsys):
    words = ["--policy=direct", "--algorithm=sbmd", "--out=run", "option"]
    found, code = record(capsys, "train", *SMALL, *words)
    assert code == 0
    again, _ = record(capsys, "evaluate", "run", "--episodes", "100")
    for key in ("environment", "algorithm", "mean"):
        assert again[key] == found[key]


@pytest.mark.parametrize(
    ("words", "kind", "expected"),
    [
        ("--policy tabular --epsilon 0.05", "Tabular", {"epsilon": 0.05}),
        ("--epsilon 0.05", "LinearSoftmax", {"epsilon": 0.05}),
        ("--hidden 4 4", "MLPSoftmax", {}),
        ("--hidden=4,4 --policy mlp --features raw", "MLPSoftmax", {}),
        ("--rbf-grid 3,3 --features rbf", "LinearSoftmax", {"epsilon": 0.0}),
        ("--rbf-grid 3 3", "LinearSoftmax", {}),
    ],
)
def test_policies(words, kind, expected):
    options, settings, given = read_request([*words.split(), "option"])
    policy = choose_policy(options, make_environment(options, given), settings.seed)
    assert type(policy).__name__ == kind
    assert {name: getattr(policy, name) for name in expected} == expected


def test_nothing_said_about_the_policy():
    options, settings, given = read_request(["option"])
    assert choose_policy(options, make_environment(options, given), settings.seed) is None


def test_file_equals_flags_and_flags_win():
    Path("run.toml").write_text(
        "risk-aversion = 0.5\nepisodes = 200\nbatch_size = 100\nevaluate_episodes = 100\nfresh_batch = true\n"
        "policy = 'mlp'\nhidden = [4]\nseed = 8\n[env]\nput-strike = 1.1\nforced = false\ncall_strike = 3\n"
    )
    over = ["--seed", "9", "--no-fresh-batch", "--env.call-strike=1.4"]
    filed, settings, given = read_request(["option", "--config", "run.toml", *over])
    flags = "--risk_aversion 0.5 --episodes 200 --batch-size 1e2 --seed 9 --policy mlp --hidden 4"
    about = "--env.put-strike 1.1 --env.forced no --env.call-strike 1.4 option --evaluate-episodes=100"
    flagged, wanted, asked = read_request([*flags.split(), *about.split()])
    assert (replace(filed, config=None), settings) == (flagged, wanted)
    assert make_environment(filed, given) == make_environment(flagged, asked)
    assert settings == Settings(risk_aversion=0.5, episodes=200, batch_size=100, seed=9)


@pytest.mark.parametrize("name", sorted(ALGORITHMS.keys() - {"bsg"}))
def test_algorithms_are_recognised(name):
    assert algorithm_name(describe(ALGORITHMS[name].build(0.3))) == name


def test_list(capsys):
    data, code = record(capsys, "list")
    assert code == 0
    assert data["environments"]["option"]["parameters"]["put_strike"]["default"] == 1.0
    assert data["environments"]["stopping"]["parameters"]["cost_cap"]["type"] == "float | None"
    assert "chow2018" in data["environments"]["stopping"]["presets"]
    assert data["algorithms"]["pg"]["objective"] == "expectation"
    defaults = {
        name: {field: about["default"] for field, about in row["parameters"].items()}
        for name, row in data["algorithms"].items()
    }
    assert (defaults["mvp"]["dual_step_size"], defaults["tamar"]["dual_step_size"]) == (0.01, 0.1)
    assert (defaults["mvp"]["fresh_batch"], defaults["bsg"]["order"]) == (False, "cyclic")
    assert (defaults["sbmd"]["policy_mirror"], defaults["rcpg"]["policy_mirror"]) == ("entropic", "euclidean")
    assert (defaults["mvp"]["policy_optimizer"], defaults["mvp"]["dual_prox"]) == ("sgd", None)
    assert "dual_step_size" not in defaults["pg"] and "dual_prox" not in defaults["pg"]
    assert data["objectives"]["expectation"]["parameters"] == {}
    assert data["objectives"]["cvar"]["parameters"]["level"]["default"] == 0.05
    assert "worst returns" in data["objectives"]["cvar"]["parameters"]["level"]["help"]
    assert data["settings"].keys() == {option.name for option in options_of(Settings)}
    assert all(row["help"] for row in data["settings"].values())
    assert main(["list"]) == 0
    out, _ = capsys.readouterr()
    for name in (*data["environments"], *data["algorithms"], *data["objectives"], *data["policies"]):
        assert name in out
    for text in ("dual_step_size 0.1,", "policy_mirror entropic", "order cyclic"):
        assert text in " ".join(out.split())


def test_help_shows_every_setting(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["train", "--help"]) == 0
    out, _ = capsys.readouterr()
    for option in options_of(Settings):
        assert option.flag in out
    assert "(default: 0.08)" in out
    assert "the weight of the variance" in out
    assert "--env." not in out.replace("--env.NAME VALUE", "")


def test_help_of_an_environment(capsys):
    assert main(["train", "--seed", "1", "stopping", "--env.start", "2", "--help"]) == 0
    out, _ = capsys.readouterr()
    assert "--env.waiting-cost FLOAT" in out
    assert "cost of every wait (default: 0.1)" in out


def test_same_command_same_arrays(capsys):
    for name in ("first", "second"):
        record(capsys, "train", "option", *SMALL, "--out", name)
    first, second = (fenchel.load(name).policy.weights for name in ("first", "second"))
    np.testing.assert_array_equal(first, second)
