"""Frontiers: near the certified optimum, picked from, kept, and without the learners that failed."""

import json

import jax.numpy as jnp
import numpy as np
import pytest

import fenchel
from fenchel import exact
from fenchel.cli.main import main
from fenchel.envs import ObserveBins, ObserveIndex, Portfolio, make
from fenchel.errors import InputError
from fenchel.policies import Greedy, Tabular, without_chance
from fenchel.studies import frontiers
from fenchel.studies.frontiers.points import Failure, Frontier, Point, efficient
from fenchel.training.view import full_view

pytestmark = pytest.mark.slow

GRID = [0.1, 1.0, 5.0]
SMALL = {"horizon": 8, "up_probability": 0.4, "waiting_cost": 0.05}


@pytest.fixture(scope="module")
def env():
    return make("stopping", "tradeoff", **SMALL)


@pytest.fixture(scope="module")
def found(env):
    return fenchel.frontier(env, grid=GRID, seeds=2, episodes=100_000)


def test_points_are_near_the_certified_optimum_and_exactly_evaluated(env, found):
    hull = exact.frontier(env)
    assert found.exact
    assert [(point.risk_aversion, point.seed) for point in found.every] == [
        (g, s) for g in GRID for s in (0, 1)
    ]
    for point in found.every:
        law = exact.played(found.env, point.policy).law
        assert (point.mean, point.std) == pytest.approx((law.mean, law.std), rel=1e-9)
        assert point.value == pytest.approx(law.mean - point.risk_aversion * law.variance, abs=1e-9)
        assert point.optimum == hull.best(point.risk_aversion).upper
        assert 0.99 < point.score <= 1 + 1e-9


def quadratic(ret, dual, aversion):
    return ret - aversion * (ret - dual) ** 2


@pytest.mark.parametrize(
    ("objective", "grid", "least"),
    [
        ("gini", [0.5], 0.98),
        ("semivariance", [1.0], 0.98),
        ("reward-volatility", [2.0], 0.98),
        (quadratic, [0.3], 0.98),
    ],
)
def test_every_objective_is_learned_and_measured(env, objective, grid, least):
    found = fenchel.frontier(env, objective=objective, grid=grid, seeds=1, episodes=60_000)
    (point,) = found.points
    assert found.exact
    assert least < point.score <= 1 + 1e-6
    law = exact.played(found.env, point.policy).law
    if objective is quadratic:
        assert point.value == pytest.approx(law.mean_variance(0.3), abs=1e-9)


def test_sharpe_ratios_and_cvar_are_learned_from_many_duals():
    env = make("option", horizon=8)
    for objective, grid in (("sharpe", None), ("cvar", [0.1])):
        found = fenchel.frontier(env, objective=objective, grid=grid, seeds=1, episodes=100_000)
        (point,) = found.points
        assert 0.98 < point.score <= 1 + 1e-6
        if objective == "sharpe":
            assert point.value == pytest.approx(point.mean / point.std, rel=1e-9)


def test_the_greatest_mean_within_a_bound_on_the_variance():
    bound = 0.02
    found = fenchel.frontier("option", objective="variance-bound", grid=[bound], seeds=2, episodes=400_000)
    (point,) = found.points
    known = exact.constrained("option", bound, nodes=0)
    assert point.std**2 == pytest.approx(bound, rel=0.02)
    assert point.mean == pytest.approx(known.value, rel=0.01)
    assert found.every[0].optimum == pytest.approx(known.upper, rel=1e-9)


def test_the_best_seed_counts_and_what_is_dominated_is_dropped(found):
    best = {g: max(p.value for p in found.every if p.risk_aversion == g) for g in GRID}
    for point in found.points:
        assert point.value == best[point.risk_aversion]
    for one in found.points:
        assert not any(o.mean > one.mean and o.std < one.std for o in found.points)


def point(mean, std, risk=1.0):
    return Point(risk, 0, mean, std, mean - risk * std**2, None, None, Tabular(jnp.zeros((2, 1))))


def test_efficient_points():
    kept, beaten, equal = point(1.0, 0.5, 1.0), point(0.9, 0.6, 2.0), point(1.0, 0.5, 3.0)
    safe = point(0.2, 0.0, 9.0)
    assert efficient([safe, kept, beaten, equal]) == (kept, equal, safe)


def test_picking(found):
    every = found.every
    bound = np.median([p.std for p in every]) ** 2
    picked = found.pick(variance_at_most=bound)
    assert picked.std**2 <= bound
    assert picked.mean == max(p.mean for p in every if p.std**2 <= bound)
    goal = np.median([p.mean for p in every])
    picked = found.pick(mean_at_least=goal)
    assert picked.std == min(p.std for p in every if p.mean >= goal)
    assert found.pick(risk_aversion=1e-3).risk_aversion == found.points[0].risk_aversion
    with pytest.raises(InputError, match="exactly one"):
        found.pick()
    with pytest.raises(InputError, match="exactly one"):
        found.pick(variance_at_most=1.0, mean_at_least=0.0)
    with pytest.raises(InputError, match="the greatest here"):
        found.pick(mean_at_least=1e6)
    with pytest.raises(InputError, match="the least here"):
        found.pick(variance_at_most=-1.0)


def test_kept_and_loaded(found, tmp_path):
    again = Frontier.load(found.save(tmp_path / "kept"))
    assert again.table(all_seeds=True) == found.table(all_seeds=True)
    assert again.table() == found.table()
    assert (again.env, again.objective, again.exact, again.curve) == (
        *(found.env, found.objective, found.exact, found.curve),
    )
    for one, other in zip(found.every, again.every, strict=True):
        law = exact.played(again.env, other.policy).law
        assert law.mean == exact.played(found.env, one.policy).law.mean
    with pytest.raises(InputError, match="holds no frontier"):
        Frontier.load(tmp_path)


def test_a_learner_that_failed_is_named_and_the_others_are_returned(env, monkeypatch):
    learn = frontiers.build.sweep

    def failing(*words, **settings):
        result = learn(*words, **settings)
        object.__setattr__(result.rows[0], "status", "diverged")
        object.__setattr__(result.rows[0], "fault", "policy.table became non-finite in iteration 3")
        return result

    monkeypatch.setattr(frontiers.build, "sweep", failing)
    found = fenchel.frontier(env, grid=[0.1, 1.0], seeds=1, episodes=20_000)
    assert found.failed == (Failure(0.1, 0, "policy.table became non-finite in iteration 3"),)
    assert [p.risk_aversion for p in found.every] == [0.1, 1.0]


def test_what_policies_see_is_enough_for_every_objective():
    assert isinstance(full_view(make("option")), ObserveIndex)
    binned = full_view(make("portfolio", horizon=6))
    assert isinstance(binned, ObserveBins)
    assert len(binned.edges) > 10
    assert type(full_view(make("option", start_spread=0.1))).__name__ == "ObserveReturn"
    chosen = make("option", observe="return")
    assert full_view(chosen) is chosen


def test_bins_are_those_of_numpy():
    env = ObserveBins(Portfolio(horizon=4), edges=(1.05, 1.2, 1.4))
    state, seen = env.reset(jnp.array([0.05, 0.9]))
    assert seen == env.index(state)
    rng = np.random.default_rng(1)
    for _ in range(3):
        state, step = env.step(jnp.asarray(rng.random(2)), state, jnp.asarray(1))
        place = int(np.searchsorted(env.edges, float(state.so_far), side="right"))
        assert int(step.observation) == place * 8 + int(env.env.index(state.inner))


def test_without_chance_the_likeliest_action_is_taken():
    policy = Tabular(jnp.array([[0.3], [-0.2], [40.0]]))
    sure = without_chance(policy)
    assert isinstance(sure, Greedy)
    rows = [sure.probabilities(jnp.asarray(i)).tolist() for i in range(3)]
    assert rows == [[0, 1], [1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"grid": []}, "is empty"),
        ({"grid": [1.0, 1.0]}, "holds a value twice"),
        ({"grid": [-1.0]}, "risk_aversion = -1.0"),
        ({"objective": "expectation"}, "no risk aversion"),
        ({"objective": "cvra"}, "did you mean 'cvar'"),
        ({"objective": "variance-bound"}, "grid = None: must be given"),
        ({"objective": lambda ret, dual: ret}, "must take 3 arguments"),
        ({"seeds": 0}, "seeds"),
    ],
)
def test_bad_input(env, how, message):
    with pytest.raises(InputError, match=message):
        fenchel.frontier(env, **how)


def test_the_command(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FENCHEL_CACHE", str(tmp_path / "cache"))
    words = "frontier stopping --preset tradeoff --env.horizon 6 --grid 0.1 1 --seeds 2 --episodes 20000"
    more = "--json --quiet --all-seeds --variance-at-most 10 --out kept --figure frontier.png"
    assert main(f"{words} {more}".split()) == 0
    out, err = capsys.readouterr()
    assert (out.count("\n"), err) == (1, "")
    record = json.loads(out)
    assert len(record["points"]) == 4
    for row in record["points"]:
        assert row.keys() >= {"risk_aversion", "value", "mean", "std", "seed", "optimum", "score"}
    assert record["picked"]["std"] ** 2 <= 10
    assert (tmp_path / "frontier.png").stat().st_size > 10_000
    assert len(Frontier.load("kept").every) == 4
    assert main(f"{words} --out kept".split()) == 2
    assert "exists already" in capsys.readouterr().err
