"""Objectives beside the plain surrogates: statistics, a ratio, steps, a bound, functions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fenchel.errors import InputError
from fenchel.objectives import (
    GiniDeviation,
    MeanSemivariance,
    MeanVariance,
    RewardVolatility,
    Sharpe,
    SharpeRatio,
    Surrogate,
    VarianceBound,
    make_objective,
)
from fenchel.objectives.phased import Phased

reals = st.floats(-50, 50, allow_subnormal=False)
aversions = st.floats(0.01, 20)
batches = st.lists(reals, min_size=6, max_size=6).map(jnp.array)
spread_out = batches.filter(lambda x: float(jnp.std(x)) > 1e-3)
quick = settings(max_examples=25, deadline=None)

STATISTICS = {
    "semivariance": MeanSemivariance,
    "gini": GiniDeviation,
    "sharpe": SharpeRatio,
}


def over(table):
    return pytest.mark.parametrize("make", table.values(), ids=table.keys())


@given(returns=batches, risk=aversions)
@quick
def test_semivariance_counts_what_falls_short_of_the_mean(returns, risk):
    array = np.asarray(returns)
    below = np.minimum(array - array.mean(), 0)
    expected = array.mean() - risk * np.mean(below**2)
    np.testing.assert_allclose(MeanSemivariance(risk).value(returns), expected, rtol=1e-9, atol=1e-9)


@given(returns=batches, risk=aversions)
@quick
def test_gini_deviation_is_half_the_mean_distance_of_two_draws(returns, risk):
    array = np.asarray(returns)
    expected = array.mean() - risk * np.abs(array[:, None] - array).mean() / 2
    np.testing.assert_allclose(GiniDeviation(risk).value(returns), expected, rtol=1e-9, atol=1e-9)


@given(returns=spread_out, benchmark=reals)
@quick
def test_the_value_of_the_sharpe_dual_is_a_function_of_the_ratio(returns, benchmark):
    """max_y 2yJ − y²M = J²/M = S²/(1 + S²), over y ≥ 0."""
    array = np.asarray(returns) - benchmark
    ratio = array.mean() / array.std()
    np.testing.assert_allclose(Sharpe(benchmark).natural().value(returns), ratio, rtol=1e-7, atol=1e-9)
    above = max(ratio, 0)
    np.testing.assert_allclose(Sharpe(benchmark).value(returns), above**2 / (1 + above**2), atol=1e-9)


def test_weights_of_the_sharpe_dual_point_where_its_value_rises():
    returns, chances = jnp.array([0.0, 1.0, 3.0]), jnp.array([0.2, 0.5, 0.3])
    slope = jax.grad(lambda p: (p @ returns) ** 2 / (p @ returns**2))(chances)
    dual = (chances @ returns) / (chances @ returns**2)
    weights = Sharpe().weights(returns, dual)
    np.testing.assert_allclose(2 * dual * weights, slope, rtol=1e-9)


def test_a_sure_return_has_an_infinite_ratio():
    for sure, ratio in ((1.0, np.inf), (0.0, 0.0), (-1.0, -np.inf)):
        assert SharpeRatio().value(jnp.full(4, sure)) == ratio


@over(STATISTICS)
@given(returns=spread_out, extra=reals, risk=aversions)
@quick
def test_weights_are_the_influence_of_a_return(make, returns, extra, risk):
    """The derivative of the value in the chance of a return that is mixed in, up to a constant."""
    objective, step = make(risk), 1e-6
    values = jnp.append(returns, extra)

    def mixed(share, place):
        chances = jnp.append(jnp.full(6, (1 - share) / 6), 0.0).at[place].add(share)
        return float(objective.of_law(values, chances))

    slopes = [(mixed(step, place) - mixed(0.0, place)) / step for place in (0, 6)]
    weights = objective.weights(values, jnp.zeros(()), returns)
    size = 1 + float(jnp.max(jnp.abs(weights)))
    assert float(weights[6] - weights[0]) == pytest.approx(slopes[1] - slopes[0], abs=1e-3 * size)


@given(risk=aversions, share=st.floats(0, 1))
@quick
def test_reward_volatility_is_mean_variance_of_all_rewards(risk, share):
    rewards = np.random.default_rng(0).normal(size=(5, 4))
    steps = jnp.stack([rewards.mean(axis=1), (rewards**2).mean(axis=1)], axis=1)
    objective = RewardVolatility(risk)
    natural = rewards.mean() - risk * rewards.var()
    assert float(objective.value(steps)) == pytest.approx(natural, rel=1e-9, abs=1e-9)
    mixed = Phased(objective, jnp.asarray(share))
    assert mixed.per_step
    expected = (1 - share) * rewards.mean() + share * natural
    assert float(mixed.value(steps)) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_a_bound_costs_nothing_until_it_is_passed_and_its_multiplier_follows_the_excess():
    returns, dual = jnp.array([0.0, 4.0]), jnp.array(2.0)
    loose, tight = VarianceBound(8.0), VarianceBound(1.0)
    assert float(loose.value(returns)) == 2.0
    assert float(tight.value(returns)) == -np.inf
    assert float(loose.excess(returns, dual)) == -0.5
    assert float(tight.excess(returns, dual)) == 3.0
    at_rest = loose.lagrangian(jnp.array(1.0), returns, dual)
    assert at_rest == MeanVariance(jnp.array(0.0))
    assert float(tight.lagrangian(jnp.array(1.0), returns, dual).risk_aversion) == 1 + 2 * 3.0


def kelly(ret, dual, aversion):
    return dual + jnp.log1p(aversion * jnp.clip(ret - dual, -0.9 / aversion, None)) / aversion


def quadratic(ret, dual, aversion):
    return ret - aversion * (ret - dual) ** 2


def shortfall(ret, dual):
    return dual - jnp.maximum(dual - ret, 0) / 0.5


@pytest.mark.parametrize("risk", [0.01, 1.0, 30.0])
def test_a_function_is_as_good_as_a_class(risk):
    returns = jnp.array([-3.0, 0.5, 0.5, 2.0, 7.0, 40.0])
    mean_variance, dual = Surrogate(quadratic, risk), jnp.mean(returns)
    assert float(mean_variance.best_dual(returns)) == pytest.approx(float(dual), abs=1e-8)
    weights = mean_variance.weights(returns, dual)
    np.testing.assert_allclose(weights, MeanVariance(risk).weights(returns, dual), rtol=1e-12)
    assert float(Surrogate(shortfall).value(returns)) == pytest.approx(-2.0 / 3, abs=1e-6)


def test_functions_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="must take 2 arguments"):
        Surrogate(kelly)
    with pytest.raises(InputError, match="must take 3 arguments"):
        Surrogate(lambda ret, dual: ret, 1.0)
    with pytest.raises(InputError, match="must give one number"):
        Surrogate(lambda ret, dual: jnp.stack([ret, dual]))


def test_bad_numbers_are_refused():
    for make in (MeanSemivariance, GiniDeviation, RewardVolatility, VarianceBound):
        with pytest.raises(InputError, match="must be above 0"):
            make(0.0)
    with pytest.raises(InputError, match="variance_bound = None: must be given"):
        make_objective("variance-bound")
    with pytest.raises(InputError, match="benchmark"):
        Sharpe(benchmark=float("nan"))
