"""The axioms every objective answers to, and what is special to each."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from fenchel.errors import InputError
from fenchel.objectives import (
    OBJECTIVES,
    CVaR,
    Entropic,
    Expectation,
    FenchelMeanVariance,
    MeanVariance,
    make_objective,
)

reals = st.floats(-50, 50, allow_subnormal=False)
aversions = st.floats(0.01, 20)
batches = st.sampled_from([1, 2, 6]).flatmap(lambda n: st.lists(reals, min_size=n, max_size=n)).map(jnp.array)
quick = settings(max_examples=50, deadline=None)

NATURAL = {
    "expectation": lambda risk: Expectation(),
    "mean-variance": MeanVariance,
    "cvar": lambda risk: CVaR(risk / 20),
    "entropic": lambda risk: Entropic(risk / 100),
}
MONOTONE = {name: make for name, make in NATURAL.items() if name != "mean-variance"}
ALL = {**NATURAL, "fenchel-mean-variance": FenchelMeanVariance}
SMOOTH = {name: make for name, make in ALL.items() if name != "cvar"}
DUAL = {name: make for name, make in SMOOTH.items() if name != "expectation"}


def over(table):
    return pytest.mark.parametrize("make", table.values(), ids=table.keys())


@jax.jit
def mean_surrogate(objective, returns, dual):
    return jnp.mean(jax.vmap(objective.surrogate, (0, None))(returns, jnp.asarray(dual)))


VALUE_SLOPE = jax.jit(jax.grad(lambda objective, returns: objective.value(returns), argnums=1))
SURROGATE_SLOPES = jax.jit(jax.grad(mean_surrogate, argnums=(1, 2)))


def test_every_objective_is_tested():
    others = {"semivariance", "gini", "sharpe", "reward-volatility", "variance-bound"}  # in test_others.py
    assert set(ALL) | others == set(OBJECTIVES)


@given(ret=reals, dual=reals, risk=aversions)
@quick
def test_the_two_scales_are_one_problem(ret, dual, risk):
    """ψ_paper(R, η + 1/(2λ)) = ψ_natural(R, η)/λ + 1/(4λ²)."""
    paper = FenchelMeanVariance(risk).surrogate(jnp.array(ret), jnp.array(dual + 1 / (2 * risk)))
    natural = MeanVariance(risk).surrogate(jnp.array(ret), jnp.array(dual))
    scale = 1 + ret**2 + dual**2 + 1 / risk**2
    np.testing.assert_allclose(paper, natural / risk + 1 / (4 * risk**2), rtol=0, atol=1e-12 * scale)


@given(returns=batches, risk=aversions)
@quick
def test_best_duals_differ_by_the_shift(returns, risk):
    shift = FenchelMeanVariance(risk).best_dual(returns) - MeanVariance(risk).best_dual(returns)
    np.testing.assert_allclose(shift, 1 / (2 * risk), atol=1e-12)


@over(DUAL)
@given(returns=batches, risk=aversions)
@quick
def test_best_dual_maximises(make, returns, risk):
    objective = make(risk)
    result = minimize_scalar(lambda y: -float(mean_surrogate(objective, returns, y)), bracket=(-1, 1))
    scale = 1 + risk * float(jnp.max(returns**2)) + 1 / risk**2
    best = float(mean_surrogate(objective, returns, objective.best_dual(returns)))
    np.testing.assert_allclose(best, -result.fun, rtol=0, atol=1e-8 * scale)
    np.testing.assert_allclose(objective.value(returns), best, rtol=1e-12, atol=1e-12 * scale)
    np.testing.assert_allclose(objective.best_dual(returns), result.x, atol=1e-4 * (1 + abs(result.x)))


@given(returns=batches, risk=aversions)
@quick
def test_values_are_the_closed_forms(returns, risk):
    array = np.asarray(returns)
    natural = array.mean() - risk * array.var()
    scale = (1 + risk + 1 / risk) * (1 + np.max(array**2)) + 1 / risk**2
    np.testing.assert_allclose(Expectation().value(returns), array.mean(), atol=1e-12)
    np.testing.assert_allclose(MeanVariance(risk).value(returns), natural, atol=1e-12 * scale)
    paper = natural / risk + 1 / (4 * risk**2)
    np.testing.assert_allclose(FenchelMeanVariance(risk).value(returns), paper, atol=1e-12 * scale)


@given(returns=batches, share=st.floats(0.01, 1))
@quick
def test_cvar_is_the_mean_of_the_worst_share(returns, share):
    array = np.sort(np.asarray(returns))
    taken = np.clip(share * len(array) - np.arange(len(array)), 0, 1)
    worst = taken @ array / taken.sum()
    np.testing.assert_allclose(CVaR(share).value(returns), worst, atol=1e-4 * (1 + abs(worst)))


def test_cvar_of_a_whole_number_of_returns():
    """0.05 · 20 is one return, and 0.15 · 20 three, whatever they are in floating point."""
    returns = jnp.arange(20.0)[::-1]
    for level, worst in ((0.05, 0.0), (0.1, 0.5), (0.15, 1.0), (1.0, 9.5)):
        assert CVaR(level).value(returns) == pytest.approx(worst, abs=1e-12)


@given(returns=batches, risk=aversions)
@quick
def test_entropic_is_its_closed_form(returns, risk):
    value = -np.log(np.mean(np.exp(-risk / 100 * np.asarray(returns)))) / (risk / 100)
    np.testing.assert_allclose(Entropic(risk / 100).value(returns), value, atol=1e-9 * (1 + 100 / risk))


@over(MONOTONE)
@given(returns=batches, gain=st.floats(0, 50), risk=aversions)
@quick
def test_more_in_one_outcome_is_never_worth_less(make, returns, gain, risk):
    better = returns.at[0].add(gain)
    assert make(risk).value(better) >= make(risk).value(returns) - 1e-4 * (
        1 + float(jnp.max(jnp.abs(returns)))
    )


@over(SMOOTH)
@given(returns=batches, risk=aversions)
@quick
def test_envelope_theorem(make, returns, risk):
    """The derivative of max_y E ψ(R, y) is that of E ψ at the best y held fixed."""
    objective = make(risk)
    dual = objective.best_dual(returns)
    through = VALUE_SLOPE(objective, returns)
    fixed, at_best = SURROGATE_SLOPES(objective, returns, dual)
    np.testing.assert_allclose(through, fixed, rtol=1e-9, atol=1e-9 * (1 + risk))
    assert abs(float(at_best)) < 1e-9 * (1 + risk)


@over(ALL)
@given(ret=reals, low=reals, high=reals, share=st.floats(0, 1), risk=aversions)
@quick
def test_concave_in_the_dual(make, ret, low, high, share, risk):
    psi = make(risk).surrogate
    ret, between = jnp.array(ret), share * low + (1 - share) * high
    chord = share * psi(ret, jnp.array(low)) + (1 - share) * psi(ret, jnp.array(high))
    assert psi(ret, jnp.array(between)) >= chord - 1e-9 * (1 + risk)


@over(NATURAL)
@given(returns=batches, shift=reals, risk=aversions)
@quick
def test_translation(make, returns, shift, risk):
    """A sure gain c adds c: ψ(R + c, y + c) = ψ(R, y) + c, in value too."""
    objective = make(risk)
    moved, value = objective.value(returns + shift), objective.value(returns)
    np.testing.assert_allclose(moved, value + shift, atol=1e-10 * (1 + risk) * 1e3)


@over(NATURAL)
@given(constant=reals, risk=aversions)
@quick
def test_a_sure_return_is_worth_itself(make, constant, risk):
    np.testing.assert_allclose(make(risk).value(jnp.full(5, constant)), constant, atol=1e-9)


@over(NATURAL)
@given(returns=batches, risk=aversions)
@quick
def test_risk_is_never_rewarded(make, returns, risk):
    assert make(risk).value(returns) <= jnp.mean(returns) + 1e-9


def test_mean_variance_is_not_monotone():
    """More in every outcome, worth less: the known defect of the variance."""
    sure, better = jnp.zeros(2), jnp.array([0.0, 10.0])
    assert MeanVariance(1.0).value(better) < MeanVariance(1.0).value(sure)


@given(returns=batches, dual=reals, risk=aversions)
@quick
def test_weights(returns, dual, risk):
    """ψ(R, y) − ψ(0, y): 2yR − R² in the paper's scale (`def:tildeg_theta`)."""
    array, dual = np.asarray(returns), jnp.array(dual)
    paper = FenchelMeanVariance(risk).weights(returns, dual)
    tolerance = {"rtol": 0, "atol": 1e-8 * (1 + risk)}
    psi = FenchelMeanVariance(risk).surrogate
    np.testing.assert_allclose(
        paper, psi(returns, dual) - psi(jnp.zeros(()), dual), atol=1e-9 * (1 + 1 / risk)
    )
    natural = MeanVariance(risk).weights(returns, dual)
    np.testing.assert_allclose(natural, array - risk * (array**2 - 2 * float(dual) * array), **tolerance)
    np.testing.assert_allclose(Expectation().weights(returns, dual), array, **tolerance)


@given(ret=reals, dual=reals, risk=aversions)
@quick
def test_dual_gradients(ret, dual, risk):
    """2R + 1/λ − 2y in the paper's scale (`alg:mvp`), 2λ (R − y) in the natural one."""
    ret, dual = jnp.array(ret), jnp.array(dual)
    paper = jax.grad(FenchelMeanVariance(risk).surrogate, argnums=1)(ret, dual)
    np.testing.assert_allclose(paper, 2 * ret + 1 / risk - 2 * dual, atol=1e-10)
    natural = jax.grad(MeanVariance(risk).surrogate, argnums=1)(ret, dual)
    np.testing.assert_allclose(natural, 2 * risk * (ret - dual), atol=1e-10)
    assert jax.grad(Expectation().surrogate, argnums=1)(ret, dual) == 0


@over(DUAL)
@pytest.mark.parametrize("risk", [0, -1.0, float("nan"), float("inf")])
def test_risk_aversion_is_positive(make, risk):
    with pytest.raises(InputError, match="risk_aversion"):
        make(risk)


@pytest.mark.parametrize("level", [0, -0.5, 1.5, float("nan")])
def test_a_level_is_a_share(level):
    with pytest.raises(InputError, match="level"):
        CVaR(level)


def test_an_objective_by_name_takes_its_own_fields_only():
    assert make_objective("cvar", level=0.25, risk_aversion=None) == CVaR(0.25)
    assert make_objective("entropic", risk_aversion=2.0) == Entropic(2.0)
    with pytest.raises(InputError, match="no effect on the objective cvar"):
        make_objective("cvar", risk_aversion=2.0)
    with pytest.raises(InputError, match="did you mean 'entropic'"):
        make_objective("entropi")


@over(ALL)
def test_one_program_serves_many_aversions(make):
    returns, risks = jnp.array([1.0, 2.0, 4.0]), jnp.array([0.1, 1.0, 10.0])
    many = jax.jit(jax.vmap(lambda risk: make(risk).value(returns)))(risks)
    np.testing.assert_allclose(many, [float(make(float(risk)).value(returns)) for risk in risks])


@over(ALL)
def test_single_precision_stays_single(make):
    returns, dual = jnp.array([1.0, 2.0], jnp.float32), jnp.array(0.5, jnp.float32)
    objective = make(0.5)
    for result in (objective.value(returns), objective.best_dual(returns), objective.weights(returns, dual)):
        assert result.dtype == jnp.float32


@pytest.mark.parametrize("risk", [1.0, 0.01, 1e-4])
def test_weights_of_the_papers_scale_are_exact_to_rounding_in_single_precision(risk):
    """ψ(R, y) and ψ(0, y) are near 1/(4λ²), and their difference is what is left of their digits."""
    returns = np.geomspace(1e-4, 1, 50, dtype=np.float32)
    dual = np.float32(0.3 + 1 / (2 * risk))
    objective = FenchelMeanVariance(jnp.asarray(risk, jnp.float32))
    found = np.asarray(objective.weights(jnp.asarray(returns), jnp.asarray(dual)), float)
    exact = 2 * float(dual) * returns.astype(float) - returns.astype(float) ** 2
    np.testing.assert_allclose(found, exact, rtol=1e-6)
