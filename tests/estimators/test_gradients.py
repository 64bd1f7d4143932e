"""Score-function estimates, exact enumeration and finite differences agree."""

from functools import partial

import jax.numpy as jnp
import numpy as np
import pytest
from estimators.support import POLICIES, SETTINGS, averages, case, errors
from jax.flatten_util import ravel_pytree
from reference import enumeration

from fenchel import bsg, mvp, pg, rcpg, sga, tamar
from fenchel.ascent import SolverState
from fenchel.estimators import ScoreFunction
from fenchel.objectives import AbstractSurrogate, Expectation, FenchelMeanVariance, MeanVariance

CASES = [(name, kind) for name in SETTINGS for kind in POLICIES]
PROBLEMS = list(SETTINGS)
RISK_AVERSION = 0.5
GOAL = FenchelMeanVariance(RISK_AVERSION)
COUNT = 8000
LIMIT = 4.0
"""Standard errors."""


def surrogate(ret, dual):
    """ψ of the paper."""
    return 2 * dual * (ret + 1 / (2 * RISK_AVERSION)) - dual**2 - ret**2


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_probabilities_sum_to_one_and_exact_gradients_are_finite_differences(name, kind):
    here = case(name, kind)
    total, nothing = here.expect(lambda ret: 1.0)
    np.testing.assert_allclose(total, 1, rtol=1e-12)
    np.testing.assert_allclose(nothing, 0, atol=1e-12)

    def values(theta):
        mean, variance, *_ = enumeration.moments(here.trajectories, here.twin, theta)
        return np.array([mean, variance])

    *_, mean_slope, variance_slope = here.moments()
    shifts = np.eye(len(here.theta)) * 1e-5
    differences = np.array([(values(here.theta + s) - values(here.theta - s)) / 2e-5 for s in shifts])
    np.testing.assert_allclose(mean_slope, differences[:, 0], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(variance_slope, differences[:, 1], rtol=1e-6, atol=1e-8)
    dual = 0.8
    slope = here.expect(lambda ret: surrogate(ret, dual))[1]
    by_parts = 2 * dual * mean_slope - (variance_slope + 2 * here.moments()[0] * mean_slope)
    np.testing.assert_allclose(slope, by_parts, rtol=1e-9, atol=1e-11)


def directions(here, aims, control_variates=("none",), count=COUNT):
    """Mean and standard error of the direction, a row per (objective, dual) and control variate."""
    estimators = [ScoreFunction(here.env, 8, control_variate) for control_variate in control_variates]

    def one(noise):
        episodes = estimators[0].sample(noise, here.policy)
        rows = [
            estimator.direction(here.policy, episodes, objective, jnp.asarray(dual))
            for objective, dual in aims
            for estimator in estimators
        ]
        return jnp.stack([ravel_pytree(row)[0] for row in rows])

    return averages(lambda key: estimators[0].draw(key, here.policy), one, count)


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_control_variates_are_unbiased_and_reduce_the_variance(name, kind):
    """The reduction is that of the expected return: a return far from zero, with a moderate scatter."""
    here = case(name, kind)
    mean, _, mean_slope, _ = here.moments()
    dual = mean + 1 / (2 * RISK_AVERSION)
    slope = here.expect(lambda ret: surrogate(ret, dual))[1]
    estimate = directions(here, [(Expectation(), 0.0), (GOAL, dual)], ("none", "batch", "step"))
    exact = np.stack([mean_slope] * 3 + [slope] * 3)
    assert errors(estimate, exact).max() < LIMIT
    none, batch, step = (estimate[1][:3] ** 2).sum(axis=1)
    assert batch < 0.8 * none
    assert step < 0.8 * none


@pytest.mark.parametrize("name", PROBLEMS)
def test_natural_scale_at_the_mean_is_the_gradient_of_mean_minus_variance(name):
    here = case(name, "linear")
    mean, _, mean_slope, variance_slope = here.moments()
    exact = mean_slope - RISK_AVERSION * variance_slope
    estimate = directions(here, [(MeanVariance(RISK_AVERSION), mean)], ["batch"])
    assert errors(estimate, exact[None]).max() < LIMIT


def displacements(here, solver, objective, dual, memory=None, batch_size=1, count=COUNT):
    """Mean and standard error of θ₁ − θ₀ of a solver whose policy step size is one."""
    estimator = ScoreFunction(here.env, batch_size)
    start = solver.init(here.policy, jnp.asarray(dual))
    if memory is not None:
        start = SolverState(start.policy, start.dual, jnp.asarray(memory))

    def one(noise):
        state, _ = solver.step(noise, jnp.asarray(0), start, estimator, objective)
        return ravel_pytree(state.policy)[0] - jnp.asarray(here.theta)

    return averages(lambda key: solver.draw(key, here.policy, estimator), one, count)


FIXED_DUAL = {
    "mvp": (mvp(1.0, 0.0), 1.0),
    "mvp, fresh batch": (mvp(1.0, 0.0, fresh_batch=True), 1.0),
    "sga": (sga(1.0, 0.3), 1.0),
    "rcpg": (rcpg(1.0, 0.3), 0.5),
    "bsg": (bsg(1.0, 0.0), 1.0),
    "bsg shuffled": (bsg(1.0, 0.0, order="shuffled"), 1.0),
}
"""Solvers whose policy moves at the first dual, and how often it does."""


@pytest.mark.parametrize("algorithm", FIXED_DUAL)
@pytest.mark.parametrize("name", PROBLEMS[1:3])
def test_policies_ascend_the_surrogate_at_the_given_dual(name, algorithm):
    here, dual = case(name, "linear"), 0.7
    solver, share = FIXED_DUAL[algorithm]
    exact = share * here.expect(lambda ret: surrogate(ret, dual))[1]
    assert errors(displacements(here, solver, GOAL, dual), exact).max() < LIMIT


@pytest.mark.parametrize("name", PROBLEMS)
def test_pg_ascends_the_mean(name):
    here = case(name, "mlp")
    estimate = displacements(here, pg(1.0), Expectation(), 0.0)
    assert errors(estimate, here.moments()[2]).max() < LIMIT


@pytest.mark.parametrize("share", [None, 0.5], ids=["plain", "bound"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_tamar_ascends_mean_minus_penalty_of_the_variance(name, share):
    """At exact trackers: ∇J − λ g′(V − b) ∇Var, with g(x) = x₊² or g′ = 1."""
    here = case(name, "linear")
    mean, variance, mean_slope, variance_slope = here.moments()
    bound = None if share is None else share * variance
    penalty = 1.0 if bound is None else 2 * (variance - bound)
    exact = mean_slope - RISK_AVERSION * penalty * variance_slope
    solver = tamar(1.0, 0.1, risk_aversion=RISK_AVERSION, variance_bound=bound)
    estimate = displacements(here, solver, GOAL, mean, memory=variance)
    assert errors(estimate, exact).max() < LIMIT


def test_tamar_below_its_bound_ascends_the_mean():
    here = case("option", "linear")
    mean, variance, mean_slope, _ = here.moments()
    solver = tamar(1.0, 0.1, risk_aversion=RISK_AVERSION, variance_bound=2 * variance)
    assert errors(displacements(here, solver, GOAL, mean, memory=variance), mean_slope).max() < LIMIT


class WithoutFactor(AbstractSurrogate):
    """Tamar's weight with the factor R of 2JR lost: R − λ (R² − 2J)."""

    def surrogate(self, ret, dual):
        return ret - RISK_AVERSION * (ret**2 - 2 * dual)

    def best_dual(self, returns):
        return jnp.mean(returns)


@pytest.mark.parametrize("name", PROBLEMS[1:])
def test_a_lost_factor_in_the_penalty_is_caught(name):
    """It penalises E[R²] instead of the variance, and these tests tell the two apart."""
    here = case(name, "linear")
    mean, _, mean_slope, variance_slope = here.moments()
    estimate = directions(here, [(WithoutFactor(), mean)], count=2 * COUNT)
    second_moment_slope = here.expect(lambda ret: ret**2)[1]
    assert errors(estimate, mean_slope - RISK_AVERSION * second_moment_slope).max() < LIMIT
    assert errors(estimate, mean_slope - RISK_AVERSION * variance_slope).max() > 2 * LIMIT


def mvp_directions(here, dual, step):
    """Exact mean of MVP's direction after the dual's update from the same episode, and from another one."""

    def updated(ret):
        return dual + step * (2 * ret + 1 / RISK_AVERSION - 2 * dual)

    same = here.expect(lambda ret: 2 * updated(ret) * ret - ret**2)[1]
    after = updated(here.moments()[0])
    return same, here.expect(lambda ret: 2 * after * ret - ret**2)[1]


@pytest.mark.parametrize("name", PROBLEMS[1:3])
def test_the_bias_of_mvp_is_proportional_to_the_dual_step_and_vanishes_with_a_fresh_batch(name):
    here, dual = case(name, "linear"), 0.7
    biases = []
    for step in (0.2, 0.4):
        same, fresh = mvp_directions(here, dual, step)
        biases.append(same - fresh)
        measured = partial(displacements, here, objective=GOAL, dual=dual, count=5 * COUNT)
        estimate = measured(mvp(1.0, step))
        assert errors(estimate, same).max() < LIMIT
        assert errors(estimate, fresh).max() > LIMIT
        assert errors(measured(mvp(1.0, step, fresh_batch=True)), fresh).max() < LIMIT
    np.testing.assert_allclose(biases[1], 2 * biases[0], rtol=1e-9)
