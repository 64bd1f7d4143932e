"""Known values: the table of the specification, and what the domains of the paper are."""

import itertools
from functools import cache

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import binom

from fenchel import make
from fenchel.envs import ENVIRONMENTS
from fenchel.exact import Evaluator, best, enumerate_environment, frontier, played
from fenchel.objectives import AbstractSurrogate, FenchelMeanVariance, MeanVariance
from fenchel.policies import DirectTabular

TABLE = [
    (0.01, 0.294407, 0.295252, 0.290670),
    (0.1, 0.287139, 0.294592, 0.273006),
    (1, 0.241988, 0.275915, 0.184194),
    (3, 0.200323, 0.232109, 0.102933),
    (10, 0.144305, 0.211636, 0.082055),
]


@cache
def walked(name="option", preset=None):
    return frontier(make(name, preset))


@pytest.mark.parametrize(("risk_aversion", "value", "mean", "std"), TABLE)
def test_the_option_is_worth_what_the_specification_says(risk_aversion, value, mean, std):
    found = walked().best(risk_aversion)
    assert found.value == pytest.approx(value, abs=1e-6)
    assert found.mean == pytest.approx(mean, abs=1e-6)
    assert found.std == pytest.approx(std, abs=1e-6)
    assert found.dual == pytest.approx(found.mean, rel=1e-12)
    assert 0 <= found.gap <= 1e-9 * found.value


def test_the_option_has_106_extreme_points():
    found = walked()
    assert len(found) == len(found.table()) == 106
    assert np.all(np.diff(found.mean) > 0)
    assert np.all(np.diff(found.edges) > 0)


def test_policies_at_extreme_points_attain_them():
    found = walked()
    for index in range(0, 106, 7):
        law = found.policy(index).law
        assert law.mean == pytest.approx(found.mean[index], rel=1e-12)
        assert law.second_moment == pytest.approx(found.second[index], rel=1e-12)
    assert found.policy(-1).law.mean == pytest.approx(found.mean[-1], rel=1e-12)


def test_always_holding_the_option():
    """Its law is binomial: the price after k rises of 20 is 1.25 · (9/8)^k · (8/9)^(20 − k)."""
    env = make("option", observe="index")
    law = played(env, DirectTabular(jnp.tile(jnp.array([1.0, 0.0]), (210, 1)))).law
    rises = np.arange(21)
    price = 1.25 * (9 / 8) ** (2.0 * rises - 20)
    payoff = np.maximum(1 - price, 0) + np.maximum(price - 1.5, 0)
    mean = binom.pmf(rises, 20, 0.45) @ payoff
    assert law.mean == pytest.approx(mean, rel=1e-12)
    assert law.variance == pytest.approx(binom.pmf(rises, 20, 0.45) @ (payoff - mean) ** 2, rel=1e-11)
    assert law.mean == pytest.approx(0.2871, abs=5e-5)
    assert law.std == pytest.approx(0.381, abs=5e-4)
    assert sum(law.probabilities) == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize(("risk_aversion", "value"), [(0.01, -1.008243), (0.3, -1.191795), (1, -1.25)])
def test_the_trade_off_of_stopping(risk_aversion, value):
    assert walked("stopping", "tradeoff").best(risk_aversion).value == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize("risk_aversion", [1e-3, 1, 1e3])
def test_accepting_at_once_is_best_with_the_numbers_of_the_paper(risk_aversion):
    found = walked("stopping", "liu2018").best(risk_aversion)
    assert found.value == pytest.approx(-1.25, rel=1e-12)
    assert found.std == pytest.approx(0, abs=1e-9)
    assert found.policy.actions[0].tolist() == [1]


PRESETS = [
    (name, preset)
    for name, cls in ENVIRONMENTS.items()
    for preset in cls.PRESETS
    if name in ("option", "stopping")  # portfolios are in tests/exact/test_enumeration.py, and few in number
]


@pytest.mark.parametrize(("name", "preset"), PRESETS)
def test_all_presets_are_trees_that_recombine(name, preset):
    env = make(name, preset)
    problem = enumerate_environment(env)
    points = problem.start_points or 1
    assert points == (32 if env.start_spread else 1)
    assert problem.horizon == env.horizon
    assert problem.size == points * env.horizon * (env.horizon + 1) // 2
    assert [layer.size for layer in problem.layers] == [points * (t + 1) for t in range(env.horizon)]
    assert problem.start.sum() == pytest.approx(1, rel=1e-12)
    for layer in problem.layers:
        total = np.asarray(layer.moves.sum(axis=1)) + np.asarray(layer.ends.sum(axis=1))
        np.testing.assert_allclose(total, 1, rtol=1e-12)


def test_numbers_of_states_are_those_of_the_tree():
    problem = enumerate_environment(make("option", horizon=5))
    for step, layer in enumerate(problem.layers):
        assert sorted(layer.states) == list(range(step * (step + 1) // 2, (step + 1) * (step + 2) // 2))
        assert not np.any(layer.so_far)


@pytest.mark.parametrize("risk_aversion", [0.1, 3.0])
def test_both_scales_of_mean_variance_are_one_problem(risk_aversion):
    natural = best(walked().problem, MeanVariance(risk_aversion))
    fenchel = best(walked().problem, FenchelMeanVariance(risk_aversion))
    assert fenchel.value == natural.value
    problem = enumerate_environment(make("option", horizon=6, observe="index"))
    table = np.random.default_rng(0).dirichlet([1, 1], 21)
    policy, evaluator = DirectTabular(jnp.asarray(table)), Evaluator.of(problem)
    law = played(problem, policy).law
    paper = float(evaluator.value(policy, FenchelMeanVariance(risk_aversion)))
    assert law.value(FenchelMeanVariance(risk_aversion)) == pytest.approx(law.mean_variance(risk_aversion))
    expected = law.mean_variance(risk_aversion) / risk_aversion + 1 / (4 * risk_aversion**2)
    assert paper == pytest.approx(expected, rel=1e-12)
    at_mean = evaluator.value(policy, FenchelMeanVariance(risk_aversion), law.mean + 1 / (2 * risk_aversion))
    assert paper == pytest.approx(float(at_mean), rel=1e-12)


class Searched(AbstractSurrogate):
    """Mean-variance that the oracle does not know for it."""

    risk_aversion: float

    def surrogate(self, ret, dual):
        return ret - self.risk_aversion * (ret - dual) ** 2

    def best_dual(self, returns):
        return jnp.mean(returns)


@pytest.mark.parametrize("risk_aversion", [0.1, 3.0])
def test_the_search_over_the_dual_finds_what_the_frontier_does(risk_aversion):
    known = walked().best(risk_aversion)
    found = best(walked().problem, Searched(risk_aversion))
    assert found.value == pytest.approx(known.value, rel=1e-9)
    assert found.gap <= 2e-9 * known.value
    assert found.upper >= known.value * (1 - 1e-12)


def test_what_is_observed_changes_nothing():
    fields = {"horizon": 8, "discount": 0.97}
    state, index, so_far = (
        frontier(make("option", observe=o, **fields)) for o in ("state", "index", "return")
    )
    for other in (index, so_far):
        np.testing.assert_allclose(other.mean, state.mean, rtol=1e-12)
        np.testing.assert_allclose(other.second, state.second, rtol=1e-12)
    assert [
        layer.observations.shape[1:] for layer in (x.problem.layers[0] for x in (state, index, so_far))
    ] == [
        (2,),
        (),
        (4,),
    ]


def test_the_upper_bound_is_above_every_optimum_and_close():
    found = walked()
    lambdas = np.logspace(-4, 4, 200)
    upper = found.upper(lambdas)
    values = np.array([found.best(risk_aversion).value for risk_aversion in lambdas])
    reached = np.max(found.mean - lambdas[:, None] * found.variance, axis=1)
    np.testing.assert_allclose(values, reached, rtol=1e-9, atol=1e-12)
    assert np.all(upper >= values)
    spread = np.ptp(found.problem.returns)
    assert np.all(upper - values <= 1e-9 * np.maximum(np.abs(values), spread))


@pytest.mark.parametrize(("name", "preset"), [("option", "liu2018"), ("stopping", "tradeoff")])
def test_the_ranges_of_risk_aversion_are_those_of_the_optima(name, preset):
    found = walked(name, preset)
    rows = found.efficient()
    limits = [row["from"] for row in rows] + [rows[-1]["to"]]
    tos = [row["to"] for row in rows]
    assert tos[0] == np.inf
    assert limits[-2] == 0
    assert tos[1:] == limits[:-2]
    assert np.all(np.diff(tos) < 0)
    assert [row["mean"] for row in rows] == sorted(row["mean"] for row in rows)
    for row in rows:
        inside = row["from"] + 1 if np.isinf(row["to"]) else (row["from"] + row["to"]) / 2
        optimum = found.best(inside)
        assert optimum.mean == pytest.approx(row["mean"], rel=1e-10)
        assert optimum.std == pytest.approx(row["std"], rel=1e-8, abs=1e-9)
    for row, after in itertools.pairwise(rows):
        worth = [r["mean"] - row["from"] * r["variance"] for r in (row, after)]
        assert worth[0] == pytest.approx(worth[1], rel=1e-10)
