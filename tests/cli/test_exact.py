"""`fenchel exact` and `fenchel evaluate --exact`: numbers, tables, figures and refusals."""

import json
from pathlib import Path

import pytest

import fenchel
from fenchel import exact
from fenchel.cli.main import main

pytestmark = pytest.mark.slow

KEYS = {"risk_aversion", "value", "mean", "std", "upper", "lower", "vertices"}
SMALL = "--env.horizon 6"


def record(capsys, words):
    """The one object that a command prints."""
    assert main([*words.split(), "--json"]) == 0
    out, err = capsys.readouterr()
    assert (out.count("\n"), err) == (1, "")
    return json.loads(out)


def test_the_optimum_is_the_library_s(capsys):
    found = record(capsys, "exact option --risk-aversion 1")
    assert found.keys() >= KEYS | {"dual", "gap", "states", "seconds", "environment", "preset", "objective"}
    best = exact.frontier("option").best(1.0)
    assert [found[key] for key in ("value", "mean", "std", "upper", "lower", "dual")] == [
        *(best.value, best.mean, best.std, best.upper, best.lower, best.dual)
    ]
    assert (found["vertices"], found["states"], found["risk_aversion"]) == (106, 210, 1.0)
    assert found["lower"] <= found["value"] <= found["upper"]


@pytest.mark.parametrize(
    ("words", "objective"),
    [
        ("--objective cvar --level 0.25", fenchel.CVaR(0.25)),
        ("--objective entropic --risk-aversion 2", fenchel.Entropic(2.0)),
        ("--objective expectation", fenchel.Expectation()),
        ("--objective fenchel-mean-variance --risk-aversion 2", fenchel.MeanVariance(2.0)),
    ],
)
def test_other_objectives(capsys, words, objective):
    found = record(capsys, f"exact stopping --preset tradeoff {SMALL} {words}")
    best = exact.best(fenchel.make("stopping", "tradeoff", horizon=6), objective)
    assert (found["value"], found["upper"]) == (best.value, best.upper)
    assert found["preset"] == "tradeoff"


def test_the_frontier(capsys):
    found = record(capsys, f"exact option {SMALL} --frontier --risk-aversion 0.5")
    hull = exact.frontier(fenchel.make("option", horizon=6))
    assert found.keys() >= KEYS
    assert [point["mean"] for point in found["points"]] == hull.mean.tolist()
    assert len(found["points"]) == found["vertices"] == len(hull)
    best = [row for row in found["points"] if row["best_from"] is not None and row["best_from"] <= 0.5]
    (chosen,) = (row for row in best if row["best_to"] is None or row["best_to"] > 0.5)
    assert chosen["mean"] == pytest.approx(found["mean"])


def test_a_bound_on_the_variance(capsys):
    found = record(capsys, f"exact option {SMALL} --variance-at-most 0.01")
    assert found["variance"] == pytest.approx(0.01)
    assert found["deterministic"]["variance"] <= 0.01 < found["variance"] * (1 + 1e-6)
    assert found["deterministic"]["mean"] <= found["mean"] <= found["upper"]
    assert sum(row["chance"] for row in found["mixture"]) == pytest.approx(1)


def test_the_best_of_a_class(capsys):
    found = record(capsys, f"exact option {SMALL} --policy tabular")
    assert 0 <= found["class"]["gap"] < 1e-9
    assert found["class"]["value"] <= found["upper"]


def test_a_long_portfolio_gets_a_schedule_and_a_bound_that_the_title_names(capsys):
    pytest.importorskip("matplotlib")
    found = record(capsys, "exact portfolio --env.horizon 9 --figure plot.svg")
    assert found.keys() >= KEYS
    assert found["lower"] <= found["value"] < found["upper"] < 1.01 * found["value"]
    assert found["gap"] == found["upper"] - found["lower"]
    text = Path("plot.svg").read_text()
    for label in ("rate high", "keep the cash", f"is {found['value']:.6g}, and at most {found['upper']:.6g}"):
        assert label in text


def test_tables_show_every_extreme_point(capsys):
    assert main(f"exact option {SMALL} --frontier".split()) == 0
    out = capsys.readouterr().out
    count = len(exact.frontier(fenchel.make("option", horizon=6)))
    assert f"vertices        {count}" in out
    assert "best from" in out


@pytest.mark.parametrize("words", ["", "--frontier", "--variance-at-most 0.02"])
def test_figures(capsys, words):
    pytest.importorskip("matplotlib")
    found = record(capsys, f"exact option {SMALL} {words} --figure plot.svg")
    assert found["figure"] == "plot.svg"
    text = Path("plot.svg").read_text()
    for label in ("hold", "execute", "not reached", f"{found['value']:.6g}"):
        assert label in text
    assert ("extreme policies" in text) == bool(words)


def test_a_run_is_put_beside_the_optimum(capsys):
    pytest.importorskip("matplotlib")
    quick = "--episodes 2000 --batch-size 100 --policy-step-size 0.1 --quiet --out run"
    record(capsys, f"train option {SMALL} {quick}")
    found = record(capsys, "evaluate run --exact --figure plot.png")
    answer = found["exact"]
    lost = answer["class_loss"] + answer["learning_loss"]
    assert answer["value"] == pytest.approx(answer["optimum"] - lost)
    assert abs(answer["mean"] - found["mean"]) < 4 * found["standard_error"]
    assert min(answer["class_loss"], answer["learning_loss"]) >= 0
    assert Path("plot.png").read_bytes().startswith(b"\x89PNG")


REFUSED = [
    ("exact", "ENVIRONMENT is missing"),
    ("exact optoin", "environment = 'optoin': did you mean 'option'?"),
    ("exact option --risk-aversion 0", "risk_aversion = 0.0: must be above 0"),
    ("exact option --level 2 --objective cvar", "level = 2.0: must be above 0 and at most 1"),
    ("exact option --objective cvr", "objective = 'cvr': did you mean 'cvar'?"),
    (
        "exact option --objective cvar --risk-aversion 2",
        "risk_aversion = 2.0: has no effect on the objective",
    ),
    (
        "exact option --objective cvar --frontier",
        "objective = 'cvar': the frontier is one of mean and variance",
    ),
    ("exact option --variance-at-most -1", "variance_at_most = -1.0: must be 0 or more"),
    ("exact option --variance-at-most 1 --frontier", "frontier = True: is for all bounds at once"),
    ("exact option --env.horizon 0", "env.horizon = 0: must be a whole number of at least 1"),
    ("exact option --most-states 100", "most_states = 100: AmericanOption reaches "),
    (
        "exact option --policy tabulr",
        "policy = 'tabulr': did you mean 'tabular'? choose one of dated, default",
    ),
    ("exact option --variance-at-most 1 --risk-aversion 2", "risk_aversion = 2.0: weighs nothing"),
    ("exact option --variance-at-most 1 --level 0.5", "level = 0.5: weighs nothing"),
    ("exact option --variance-at-most 1 --policy mlp", "policy = 'mlp': has an optimum"),
    ("exact portfolio --frontier", "frontier = True: needs a finite problem"),
    ("exact option --observe index", "observe = 'index': is what a --policy sees"),
    ("exact option --figure plot.txt", "figure = 'plot.txt': must end in"),
    (
        "exact stopping --preset tradeoff --variance-at-most 1e-9 --env.start-spread 0.1",
        "variance_at_most = 1e-09: is below 0.00",
    ),
    ("evaluate run --figure plot.png", "figure = 'plot.png': shows the exact answers; add --exact"),
]


@pytest.mark.parametrize(("words", "message"), REFUSED, ids=[words for words, _ in REFUSED])
def test_refused(capsys, words, message):
    assert main(words.split()) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"fenchel: error: {message}") or message in err
    assert not list(Path().iterdir())


def test_help_names_the_parameters_of_the_environment(capsys):
    assert main(["exact", "option", "--help"]) == 0
    out = capsys.readouterr().out
    assert "--variance-at-most" in out and "--env.put-strike" in out
