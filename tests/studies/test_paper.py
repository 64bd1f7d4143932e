"""A miniature of the whole study: its numbers against independent ones, page, figures, and resuming."""

import re
from dataclasses import replace

import matplotlib.image
import numpy as np
import pytest

import fenchel
from fenchel import exact
from fenchel.errors import InputError
from fenchel.intervals import Interval
from fenchel.report.paper import write_page
from fenchel.studies.paper import FULL, QUICK, Findings, Plan, run_study
from fenchel.studies.paper import runs as runs_module
from fenchel.studies.paper.findings import Claim
from fenchel.studies.paper.plan import ALGORITHMS, RISK_AVERSIONS
from fenchel.studies.paper.published import TABLE
from fenchel.studies.paper.runs import best_cells
from fenchel.studies.paper.truth import least_std

pytestmark = pytest.mark.slow

MINI = Plan(
    domains=("option", "stopping", "portfolio"),
    algorithms=("mvp", "tamar", "pg"),
    weights=(1.0, 3.0),
    policy_factors=(1.0, 30.0),
    dual_steps=(0.01, 0.1),
    tuning_seeds=2,
    tuning_episodes=300,
    finalists=2,
    final_seeds=3,
    trials=16,
    trial_episodes=400,
    evaluation_episodes=200,
    uniform_episodes=5000,
    restarts=2,
    bound_rounds=2,
    bound_points=(1.0,),
    rate_counts=(100, 400),
    rate_seeds=8,
    decay_episodes=2000,
    decay_seeds=4,
    bias_episodes=20_000,
)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("study") / "paper"


@pytest.fixture(scope="module")
def results(place):
    return run_study(MINI, place)


@pytest.fixture(scope="module")
def findings(results):
    return Findings(MINI, results)


def test_a_trial_is_the_single_run_exactly_evaluated(findings):
    chosen = findings.tuning("option", "mvp")["chosen"]
    single = fenchel.train(
        "option", "mvp", schedule="robbins-monro", episodes=MINI.trial_episodes, seed=3, **chosen
    )
    law = exact.played(single.env, single.policy).law
    trials = findings.trials("option", "mvp")
    assert trials["mean"][3] == pytest.approx(law.mean, rel=1e-5)
    assert trials["std"][3] == pytest.approx(law.std, rel=1e-5)
    value = law.mean - RISK_AVERSIONS["option"] * law.variance
    assert trials["value"][3] == pytest.approx(value, rel=1e-4)


def test_the_best_cell_of_the_grid_is_chosen(findings):
    tuning = findings.tuning("stopping", "tamar")
    shares = np.asarray(tuning["share"])
    assert shares.shape == (2, 2, 2, MINI.tuning_seeds)
    best = best_cells(shares.mean(axis=-1), 2)
    cells = [{name: axis[i] for (name, axis), i in zip(tuning["axes"], cell, strict=True)} for cell in best]
    finals = [{name: final[name] for name in cells[0]} for final in tuning["finalists"]]
    assert finals == cells
    assert tuning["chosen"] == cells[int(np.argmax([final["share"] for final in tuning["finalists"]]))]
    assert dict(tuning["axes"])["risk_aversion"] == [RISK_AVERSIONS["stopping"] * w for w in MINI.weights]


def test_budgets_are_equal(findings):
    budgets = {findings.tuning("option", name)["episodes"] for name in MINI.algorithms}
    assert budgets == {8 * MINI.tuning_seeds * MINI.tuning_episodes}


def test_shares_lie_on_the_exact_scale(findings):
    scale = findings.truth("option")["scale"]
    best = exact.frontier("option").best(1.0)
    assert (scale["attained"], scale["upper"]) == pytest.approx((best.value, best.upper), rel=1e-12)
    trials = findings.trials("option", "pg")
    span = scale["upper"] - scale["uniform"]
    np.testing.assert_allclose(trials["share"], (np.array(trials["value"]) - scale["uniform"]) / span)
    assert np.max(trials["share"]) <= 1


def test_no_policy_of_the_study_exceeds_the_bound(findings):
    for domain in MINI.domains:
        (weight, upper), *_ = findings.truth(domain)["supports"]
        for name in MINI.algorithms:
            trials = findings.trials(domain, name)
            value = np.array(trials["mean"]) - weight * np.array(trials["std"]) ** 2
            error = np.array(trials["std"]) / MINI.evaluation_episodes**0.5 if domain == "portfolio" else 1e-9
            assert np.all(value <= upper + 4 * error)


def test_least_std_is_that_of_the_exact_frontier():
    hull = exact.frontier("option")
    weights = np.array([row["to"] for row in hull.efficient() if np.isfinite(row["to"])])
    supports = list(zip(weights, hull.upper(weights), strict=True))
    for row in hull.efficient():
        assert least_std(supports, row["mean"]) == pytest.approx(row["std"], abs=1e-6)


def test_histograms_hold_almost_everything(findings):
    for domain in MINI.domains:
        histogram = findings.trials(domain, "mvp")["histogram"]
        assert 0.99 < sum(histogram["mass"]) <= 1 + 1e-9
        assert np.all(np.diff(histogram["edges"]) > 0)


def test_areas_count_cells_near_the_best(findings):
    cells = {name: findings.cells("option", name).mean(axis=-1) for name in MINI.algorithms}
    assert {values.shape for values in cells.values()} == {(2, 2)}
    best = max(values.max() for values in cells.values())
    for name, values in cells.items():
        area = findings.area("option", name)
        assert area.estimate == np.mean(values >= 0.95 * best)
        assert 0 <= area.low <= area.high <= 1
    overall = [findings.overall_area(name).estimate for name in findings.ranking()]
    assert overall == sorted(overall, reverse=True)


def test_comparisons_are_paired_differences(findings):
    claims = {claim.text: claim.number for claim in findings.comparisons()}
    ours, theirs = (findings.trials("option", name) for name in ("mvp", "tamar"))
    gap = np.mean(ours["mean"]) - np.mean(theirs["mean"])
    assert claims["option: MVP has a higher mean than TAMAR"].estimate == pytest.approx(gap)
    spread = np.mean(theirs["std"]) - np.mean(ours["std"])
    assert claims["option: MVP has a lower std than TAMAR"].estimate == pytest.approx(spread)


@pytest.mark.parametrize(
    ("ends", "verdict"), [((0.1, 0.3), "holds"), ((-0.1, 0.3), "undecided"), ((-0.3, -0.1), "does not hold")]
)
def test_a_verdict_goes_by_the_interval(ends, verdict):
    assert Claim("", Interval(sum(ends) / 2, *ends)).verdict == verdict


def test_the_page_says_what_came_out(findings, tmp_path):
    page, *figures = write_page(findings, tmp_path / "paper.md", "fenchel paper")
    text = page.read_text()
    for domain in MINI.domains:
        for row in findings.table(domain):
            line = next(
                line
                for line in _section(text, domain.capitalize()).splitlines()
                if line.startswith(f"| {row.algorithm.upper()} |")
            )
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            for cell, interval in zip(
                cells[1:], (row.mean, row.std, row.error, row.value, row.share), strict=False
            ):
                assert [float(x) for x in re.findall(r"[-+.\de]+", cell)] == pytest.approx(interval, rel=1e-3)
            assert cells[7:9] == [f"{row.paper.mean:g}", f"{row.paper.std:g}"]
    least = findings.truth("portfolio")["least_std"]["mvp"]
    assert f"No policy with that mean has a standard deviation below {least:.3g}" in text
    assert "No policy has a mean above -1.25, and the one that attains it has standard deviation 0." in text
    linked = re.findall(r"\]\((.*?\.png)\)", text)
    assert {tmp_path / link for link in linked} == set(figures)


def test_figures_show_something(findings, tmp_path):
    _, *figures = write_page(findings, tmp_path / "paper.md", "fenchel paper")
    assert len(figures) >= 3
    for path in figures:
        pixels = matplotlib.image.imread(path)[..., :3]
        assert min(pixels.shape[:2]) >= 300
        ink = np.mean(np.any(pixels < 0.9, axis=2))
        assert 0.01 < ink < 0.9
        assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 50


def test_a_study_is_not_computed_twice_and_is_the_same_again(results, place, tmp_path, monkeypatch):
    again = run_study(replace(MINI, domains=("option",), algorithms=("mvp",)), tmp_path / "again")
    for name in again:
        assert again[name] == results[name]
    monkeypatch.setattr(runs_module, "sweep", lambda *_, **__: pytest.fail("was computed already"))
    assert run_study(MINI, place, resume=True) == results


def test_a_study_that_was_interrupted_goes_on(results, tmp_path, monkeypatch):
    plan = replace(MINI, domains=("option",), algorithms=("mvp",))
    learn, count = runs_module.sweep, []

    def interrupted(*words, **settings):
        count.append(settings)
        if len(count) == 2:
            raise KeyboardInterrupt
        return learn(*words, **settings)

    monkeypatch.setattr(runs_module, "sweep", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_study(plan, tmp_path / "run")
    found = run_study(plan, tmp_path / "run", resume=True)
    assert len(count) == 6  # grid, an interrupted final, the grid as it was, two finals, trials
    assert found["option/mvp/trials"] == results["option/mvp/trials"]


def test_another_plan_is_refused_in_the_same_place(results, place):
    with pytest.raises(InputError, match="trials") as refused:
        run_study(replace(MINI, trials=17), place, resume=True)
    assert "16" in str(refused.value)


def test_bad_plans_are_refused():
    with pytest.raises(InputError, match="did you mean 'option'"):
        replace(FULL, domains=("optoin",))
    with pytest.raises(InputError, match="contain 1"):
        replace(FULL, weights=(0.5,))
    with pytest.raises(InputError, match="trials"):
        replace(QUICK, trials=0)


def test_plans_cover_the_paper():
    for plan in (FULL, QUICK):
        assert set(plan.domains) == set(TABLE)
        assert set(plan.algorithms) == set(ALGORITHMS) == set(TABLE["option"])
        assert plan.trials >= 100


def _section(text, title):
    return text.split(f"## {title}\n")[1].split("\n## ")[0]
