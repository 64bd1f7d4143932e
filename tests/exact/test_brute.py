"""The oracle against all deterministic history-dependent policies of random tiny problems."""

import jax.numpy as jnp
import numpy as np
import pytest
from exact import brute
from exact.support import finite
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from fenchel.exact import best, constrained, frontier
from fenchel.objectives import AbstractSurrogate, CVaR, Entropic, Expectation

pytestmark = pytest.mark.slow

MANY = settings(max_examples=200, deadline=None)
RELATIVE = 1e-9
ROUNDING = 1e-12

risk_aversions = st.floats(-2, 2).map(lambda power: 10**power)


def scale(problem, value):
    """What 1e-9 is relative to."""
    return max(abs(value), float(np.ptp(problem.returns)))


def assert_certified(found, problem, value):
    size = scale(problem, value)
    assert found.value == pytest.approx(value, abs=RELATIVE * size)
    assert found.upper >= value - ROUNDING * size
    assert found.lower <= value + ROUNDING * size
    assert found.lower <= found.value <= found.upper


@MANY
@given(brute.tiny_problems(), st.lists(risk_aversions, min_size=3, max_size=3))
def test_the_optimum_of_mean_variance_is_that_of_all_policies(tiny, lambdas):
    problem = finite(tiny)
    points = np.array([(brute.mean(law), brute.variance(law)) for law in brute.laws(tiny)])
    walked = frontier(problem)
    for risk_aversion in lambdas:
        value = float(np.max(points @ [1, -risk_aversion]))
        found = walked.best(risk_aversion)
        assert_certified(found, problem, value)
        assert found.gap <= RELATIVE * scale(problem, value)
        assert found.law.mean - risk_aversion * found.law.variance == pytest.approx(found.value, rel=1e-12)
        assert np.all(_is_allowed(problem, found.policy))


def _is_allowed(problem, policy):
    pairs = zip(problem.layers, policy.actions, strict=True)
    return np.concatenate([np.take_along_axis(one.allowed, a[:, None], axis=1) for one, a in pairs])


@MANY
@given(brute.tiny_problems())
def test_the_extreme_points_are_the_corners_of_the_lower_hull(tiny):
    """From the least second moment about the least return on; corners that hardly stand out may be missed."""
    problem = finite(tiny)
    hull = np.array(brute.lower_hull([(brute.mean(law), brute.second(law)) for law in brute.laws(tiny)]))
    found = frontier(problem)
    assert np.all(np.diff(found.mean) > 0)
    assert found.mean[-1] == pytest.approx(hull[-1, 0], abs=1e-10)
    np.testing.assert_allclose(found.second, np.interp(found.mean, *hull.T), atol=1e-9)
    normals = np.diff(hull[:, 1]) / (2 * np.diff(hull[:, 0]))
    for index, (mean, second) in enumerate(hull):
        right = normals[index] if index < len(normals) else np.inf
        others = np.delete(hull, index, axis=0)
        inside = 0 < index < len(hull) - 1
        flat = inside and np.interp(mean, *others.T) - second < 1e-8
        if right > problem.returns[0] + 1e-8 and not flat:
            assert np.min(np.abs(found.mean - mean) + np.abs(found.second - second)) < 1e-9


class Skewed(AbstractSurrogate):
    """An optimised certainty equivalent of a smooth utility that minds losses four times as much as gains."""

    def surrogate(self, ret, dual):
        gap = ret - dual
        return dual + gap - jnp.where(gap < 0, 2.0, 0.5) * (jnp.sqrt(1 + gap**2) - 1)

    def best_dual(self, returns):
        return jnp.mean(returns)  # right for a sure return, and the oracle asks for no other


def skewed(law):
    returns, chances = np.array(law).T

    def loss(dual):
        gap = returns - dual
        return -chances @ (returns - np.where(gap < 0, 2.0, 0.5) * (np.sqrt(1 + gap**2) - 1))

    ends = returns.min(), returns.max() + 1e-6
    return -minimize_scalar(loss, bounds=ends, method="bounded", options={"xatol": 1e-9}).fun


def assert_best_of_all(tiny, level, risk_aversion):
    problem, laws = finite(tiny), list(brute.laws(tiny))
    cases = [
        (Expectation(), brute.mean),
        (CVaR(level), lambda law: brute.cvar(law, level)),
        (Entropic(risk_aversion), lambda law: brute.entropic(law, risk_aversion)),
        (Skewed(), skewed),
    ]
    for objective, value in cases:
        highest = max(map(value, laws))
        found = best(problem, objective)
        assert_certified(found, problem, highest)
        assert found.gap <= 2 * RELATIVE * scale(problem, highest)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.01, 1), risk_aversions)
def test_the_optimum_of_other_objectives_is_that_of_all_policies(seed, level, risk_aversion):
    """JAX compiles anew for each number of returns, so these problems have 32 of them."""
    assert_best_of_all(brute.generic(seed), level, risk_aversion)


@settings(max_examples=6, deadline=None)
@given(brute.tiny_problems(most_policies=100), st.floats(0.01, 1), risk_aversions)
def test_the_same_for_problems_of_any_size(tiny, level, risk_aversion):
    assert_best_of_all(tiny, level, risk_aversion)


@MANY
@given(brute.tiny_problems(), st.data())
def test_the_best_mean_under_a_bound_on_the_variance_is_that_of_all_policies(tiny, data):
    """The deterministic policies of fenchel know state and reward so far, not how they came about."""
    problem = finite(tiny)
    laws = list(brute.laws(tiny))
    variances = [brute.variance(law) for law in laws]
    bound = data.draw(st.sampled_from(variances) | st.floats(min(variances), 2 * max(variances)), "bound")
    found = constrained(problem, bound + 1e-15, nodes=5000)
    slack = 2 * RELATIVE * bound + 1e-10
    hull = brute.lower_hull([(brute.mean(law), brute.second(law)) for law in laws])
    close = RELATIVE * scale(problem, problem.largest_return)
    for law in (found.mixture.law, found.deterministic.law):
        assert law.variance <= bound * (1 + RELATIVE) + ROUNDING * problem.largest_return**2
    assert found.value >= _highest(laws, bound - slack) - close
    assert brute.highest_mean(hull, bound - slack) - close <= found.value
    assert found.value <= brute.highest_mean(hull, bound + slack) + close
    assert found.value <= found.upper
    assert found.upper >= brute.highest_mean(hull, bound - slack) - 1e-11
    plain = list(brute.laws(tiny, remember_all=False))
    mean = found.deterministic.law.mean
    assert _highest(plain, bound - slack) - close <= mean <= _highest(plain, bound + slack) + close
    assert found.deterministic_upper >= _highest(plain, bound - slack) - close
    assert found.deterministic_gap <= close


def _highest(laws, bound):
    means = [brute.mean(law) for law in laws if brute.variance(law) <= bound]
    return max(means, default=-np.inf)


def test_there_are_as_many_policies_as_counted_and_histories_matter_to_some_of_them():
    """A coin, then a choice free of it: 2 policies of (state, reward so far), 4 of histories."""
    coin = brute.Step([[[0.5, 0.5]] * 2] * 2, np.zeros((2, 2, 2)).tolist(), [[0], [0]], [False] * 2, [0, 0])
    meet = coin._replace(chances=[[[1.0, 0.0]] * 2] * 2)
    earned = [[[0.0, 0.0], [1.0, 1.0]]] * 2
    choose = coin._replace(rewards=earned, actions=[[0, 1], [0, 1]])
    tiny = brute.Tiny([1.0, 0.0], [coin, meet, choose], 1.0, True)
    assert brute.count(tiny) == len(list(brute.laws(tiny))) == 4
    assert len(list(brute.laws(tiny, remember_all=False))) == 2
    assert sorted({brute.mean(law) for law in brute.laws(tiny)}) == [0, 0.5, 1]
