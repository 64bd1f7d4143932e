"""Optima of statistics against all deterministic policies, and against what is known otherwise."""

import jax.numpy as jnp
import numpy as np
import pytest
from exact import brute
from exact.support import finite
from hypothesis import given, settings
from hypothesis import strategies as st

from fenchel.envs import make
from fenchel.errors import InputError
from fenchel.exact import Evaluator, best, enumerate_environment, frontier, gradient, played
from fenchel.exact.volatility import best_volatility, step_moments
from fenchel.objectives import (
    GiniDeviation,
    MeanSemivariance,
    RewardVolatility,
    Sharpe,
    SharpeRatio,
    VarianceBound,
)
from fenchel.policies import Tabular

risk_aversions = st.floats(-1.5, 1.5).map(lambda power: 10**power)


def gini(law):
    values, chances = np.array(law).T
    return chances @ np.abs(values[:, None] - values) @ chances / 2


def semivariance(law):
    values, chances = np.array(law).T
    return chances @ np.minimum(values - chances @ values, 0) ** 2


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 2**32 - 1), risk_aversions)
def test_bounds_hold_for_all_policies_and_what_is_found_is_the_best_of_them(seed, risk):
    tiny = brute.generic(seed)
    problem, laws = finite(tiny), list(brute.laws(tiny))
    spread = float(np.ptp(problem.returns))
    cases = [
        (GiniDeviation(risk), lambda law: brute.mean(law) - risk * gini(law), 1e-9),
        (MeanSemivariance(risk), lambda law: brute.mean(law) - risk * semivariance(law), 1e-3 * (1 + risk)),
    ]
    for objective, value, close in cases:
        found, highest = best(problem, objective), max(map(value, laws))
        assert found.upper >= highest - 1e-9 * spread
        assert found.value >= highest - close * spread
        assert found.law.value(objective) == pytest.approx(found.value, abs=1e-9 * spread)
        assert found.lower <= found.value <= found.upper
    assert best(problem, MeanSemivariance(risk)).gap <= 1e-3 * (1 + risk) * spread


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.01, 0.99))
def test_the_best_sharpe_ratio_is_that_of_all_policies(seed, share):
    tiny = brute.generic(seed)
    problem, laws = finite(tiny), list(brute.laws(tiny))
    best_mean = max(map(brute.mean, laws))
    benchmark = float(problem.returns[0] + share * (best_mean - problem.returns[0]))
    found = best(problem, SharpeRatio(benchmark))
    highest = max((brute.mean(law) - benchmark) / np.sqrt(brute.variance(law)) for law in laws)
    assert found.value == pytest.approx(highest, rel=1e-6)
    assert found.upper >= highest * (1 - 1e-9)
    assert found.gap <= 1e-5 * highest
    with pytest.raises(InputError, match="the ratio means nothing"):
        best(problem, SharpeRatio(best_mean + 1))


def test_sure_gains_have_no_best_ratio():
    with pytest.raises(InputError, match="can be had for sure"):
        best("option", SharpeRatio(-1.0))


def test_the_best_within_a_bound_is_a_policy_with_that_variance():
    found = best("option", VarianceBound(0.02))
    assert found.law.variance == pytest.approx(0.02, rel=1e-9)
    assert found.law.mean == pytest.approx(found.value, rel=1e-12)
    assert found.value == pytest.approx(0.253784, abs=1e-6)
    assert found.gap < 1e-9


def test_statistics_of_the_option_are_reached_and_bounded():
    walked = frontier("option")
    ratio = best(walked.problem, Sharpe())
    assert ratio.value == pytest.approx(max(walked.mean[1:] / walked.std[1:]), rel=1e-9)
    narrow = best(walked.problem, GiniDeviation(1.0))
    assert 0 <= narrow.gap < 1e-6
    half = best(walked.problem, MeanSemivariance(1.0))
    assert 0 <= half.gap < 1e-3
    assert half.value >= walked.best(1.0).value


def test_volatility_of_a_single_payment_is_that_of_the_return():
    """The option pays once in T steps, so A = J/T and B = M/T: its frontier has the optimum."""
    env, risk = make("option", horizon=8, observe="index"), 3.0
    walked = frontier(env)
    mean, second = walked.mean / 8, walked.second / 8
    attained, upper = best_volatility(env, walked.problem, RewardVolatility(risk))
    assert attained == pytest.approx(np.max(mean - risk * (second - mean**2)), rel=1e-6)
    assert attained <= upper <= attained + 1e-6


def test_moments_of_steps_are_those_of_a_policy_that_plays():
    env = make("stopping", "tradeoff", "index", horizon=6)
    policy = Tabular(jnp.asarray(np.random.default_rng(0).normal(size=(env.state_count, 1))))
    sums = [played(step_moments(env, order), policy).law.mean for order in (1, 2)]
    assert sums[0] == pytest.approx(played(enumerate_environment(env), policy).law.mean, rel=1e-12)
    squares = played(enumerate_environment(env), policy).law.second_moment
    assert sums[1] < squares  # payments of waiting add up before they are squared


@pytest.mark.parametrize("objective", [MeanSemivariance(2.0), GiniDeviation(0.7)])
def test_gradients_of_statistics_are_those_of_finite_differences(objective):
    env = make("option", horizon=5, observe="index")
    problem = enumerate_environment(env)
    table = np.random.default_rng(1).normal(size=(env.state_count, 1))
    evaluator = Evaluator.of(problem)
    slope = np.asarray(gradient(problem, Tabular(jnp.asarray(table)), objective).table)
    for row in (0, 4, 9):
        ends = []
        for sign in (1, -1):
            moved = table.copy()
            moved[row, 0] += sign * 1e-5
            ends.append(float(evaluator.value(Tabular(jnp.asarray(moved)), objective)))
        assert slope[row, 0] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-5, abs=1e-9)
