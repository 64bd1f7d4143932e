"""`fenchel paper`: one object out, a page, refusals, and a study that goes on after an interrupt."""

import json

import pytest

from fenchel.cli.main import main
from fenchel.studies import paper
from fenchel.studies.paper import Plan, runs

pytestmark = pytest.mark.slow

TINY = Plan(
    domains=("option",),
    algorithms=("mvp",),
    weights=(1.0,),
    policy_factors=(1.0,),
    dual_steps=(0.1,),
    tuning_seeds=4,
    tuning_episodes=100,
    trials=4,
    trial_episodes=100,
    rate_counts=(100, 400),
    rate_seeds=4,
    decay_episodes=2000,
    decay_seeds=4,
    bias_episodes=10_000,
)


@pytest.fixture(autouse=True)
def _tiny(monkeypatch):
    monkeypatch.setattr(paper, "QUICK", TINY)


def test_a_study_is_interrupted_resumed_and_told_in_one_object(capsys, tmp_path, monkeypatch):
    learn = runs.sweep

    def interrupted(*words, **settings):
        monkeypatch.setattr(runs, "sweep", learn)
        raise KeyboardInterrupt

    monkeypatch.setattr(runs, "sweep", interrupted)
    line = ["paper", "--quick", "--quiet", "--json", "--page", "found.md"]
    assert main(line) == 130
    out, err = capsys.readouterr()
    assert out == ""
    assert "to go on: fenchel paper --quick --out runs/paper-quick --resume" in err
    assert main([*line, "--resume"]) == 0
    out, err = capsys.readouterr()
    assert (out.count("\n"), err) == (1, "")
    record = json.loads(out)
    (row,) = record["domains"]["option"]
    assert row.keys() >= {"mean", "std", "value", "share", "intervals", "paper_mean", "paper_std"}
    low, high = row["intervals"]["mean"]
    assert low <= row["mean"] <= high
    assert record["theory"]["slope"][0] < 0
    assert (record["page"], record["status"]) == ("found.md", "done")
    text = (tmp_path / "found.md").read_text()
    assert f"{row['mean']:.4g}" in text
    assert all((tmp_path / figure).stat().st_size > 10_000 for figure in record["figures"])
    monkeypatch.setattr(runs, "sweep", interrupted)
    assert main(["paper", "--quick", "--quiet", "--resume"]) == 0
    assert "what the paper says" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--page", "found.txt"], "page = 'found.txt': must end in .md"),
        (["--page", "nowhere/found.md"], "needs its directory"),
        (["--resume"], "holds no run to resume"),
        (["--quik"], "did you mean '--quick'"),
    ],
)
def test_bad_input_is_one_line(capsys, tmp_path, words, message):
    assert main(["paper", "--quick", *words]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert message in err
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_is_taken_is_refused(capsys, tmp_path):
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "config.json").write_text("{}")
    assert main(["paper", "--quick", "--out", "taken"]) == 2
    assert "already holds a run" in capsys.readouterr().err
