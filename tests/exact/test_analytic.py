"""Closed forms of allocation and of execution against independent numbers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import optimize

from fenchel.envs import Allocation, Execution, ObserveReturn
from fenchel.errors import InputError
from fenchel.estimators import draw_rollout, rollout
from fenchel.exact import affine_moments, almgren_chriss, li_ng, schedule_moments
from fenchel.objectives import CVaR, MeanVariance
from fenchel.policies import Central, DatedGaussian
from fenchel.studies.oracle import oracle_of

MARKET = {"riskless": 1.02, "mean": (1.06, 1.03), "covariance": ((0.04, 0.01), (0.01, 0.02))}


def numbers(policy):
    return np.concatenate([np.ravel(policy.constants), np.ravel(policy.slopes)])


def policy_of(flat, like):
    size = like.constants.size
    return DatedGaussian(
        like.log_std,
        jnp.asarray(flat[:size]).reshape(like.constants.shape),
        jnp.asarray(flat[size:]).reshape(like.slopes.shape),
    )


@pytest.mark.parametrize("risk_aversion", [0.3, 5.0])
def test_the_policy_has_the_value_that_the_formula_says_and_no_neighbour_is_better(risk_aversion):
    env = Allocation(horizon=3, start_wealth=1.5, **MARKET)
    found = li_ng(env, risk_aversion)

    def value(flat):
        mean, variance = affine_moments(env, policy_of(flat, found.policy))
        return mean - risk_aversion * variance

    mean, variance = affine_moments(env, found.policy)
    assert (mean, variance**0.5) == pytest.approx((found.mean, found.std), rel=1e-10)
    best = numbers(found.policy)
    assert value(best) == pytest.approx(found.value, rel=1e-12)
    slopes = optimize.approx_fprime(best, value, 1e-6)
    assert np.abs(slopes).max() < 1e-4
    rng = np.random.default_rng(0)
    moved = [value(best + 0.05 * rng.normal(size=best.size)) for _ in range(20)]
    assert max(moved) < found.value


def test_one_period_is_markowitz():
    env = Allocation(horizon=1, **MARKET)
    excess = np.array(MARKET["mean"]) - 1.02
    amounts = np.linalg.solve(np.array(MARKET["covariance"]), excess) / 4
    found = li_ng(env, 2.0)
    np.testing.assert_allclose(found.policy.constants[0], amounts, atol=1e-12)
    assert found.value == pytest.approx(1.02 + amounts @ excess / 2)


def test_moments_agree_with_episodes():
    env = Allocation(horizon=3, **MARKET)
    policy = li_ng(env, 2.0).policy
    mean, variance = affine_moments(env, policy)
    count = 40_000
    noise = draw_rollout(jax.random.key(0), env, Central(policy), count)
    returns = np.asarray(jax.jit(lambda n: rollout(env, Central(policy), n).returns)(noise))
    assert abs(returns.mean() - mean) < 4 * (variance / count) ** 0.5
    squares = (returns - mean) ** 2
    assert abs(squares.mean() - variance) < 4 * squares.std() / count**0.5


def test_the_frontier_is_the_one_of_the_formula():
    env = Allocation(horizon=4)
    found = li_ng(env, 1.0)
    kept = found.ratio**4
    assert found.std**2 == pytest.approx(kept / (1 - kept) * (found.mean - 1.04**4) ** 2)
    std, mean = oracle_of(env).curve()
    assert np.interp(found.std, std, mean) == pytest.approx(found.mean)


@pytest.mark.parametrize("field", [{"cost": 0.01}, {"leverage": 1.0}, {"short": 0.0}])
def test_limits_and_costs_have_no_closed_form(field):
    with pytest.raises(InputError, match="has no known optimum"):
        oracle_of(Allocation(**field))


@pytest.mark.parametrize("risk_aversion", [0.0, 1e-7, 1e-6, 1e-5])
def test_no_schedule_is_better_than_almgren_chriss(risk_aversion):
    env = Execution(horizon=6, period=0.5)
    found = almgren_chriss(env, risk_aversion)

    def cost(inner):
        mean, variance = schedule_moments(env, 1e6 * np.append(inner, 0))
        return (risk_aversion * variance - mean) / 1e6

    best = optimize.minimize(cost, np.linspace(0.8, 0.1, 5), bounds=[(0, 1)] * 5, options={"ftol": 1e-15})
    assert -best.fun * 1e6 == pytest.approx(found.value, rel=1e-7)
    np.testing.assert_allclose(found.left[:-1] / 1e6, best.x, atol=1e-3)


def test_schedules_are_judged_by_their_moments_and_only_for_mean_variance():
    env = Execution()
    oracle = oracle_of(env)
    risk_aversion = 1e-6
    left = almgren_chriss(env, risk_aversion).left / 1e6
    shares = 1 - left / np.append(1.0, left[:-1])
    policy = Central(DatedGaussian(jnp.zeros(1), jnp.asarray(shares)[:, None], jnp.zeros((5, 1, 1))))
    goal = MeanVariance(risk_aversion)
    ((mean, std, value),) = oracle.values([policy], [goal])
    scale = oracle.scale(goal)
    assert value == pytest.approx(scale.upper, rel=1e-9)
    assert mean - risk_aversion * std**2 == pytest.approx(value)
    assert scale.share(scale.uniform) == 0
    assert oracle.values([policy], [CVaR(0.1)]) is None
    with pytest.raises(InputError, match="no known optimum"):
        oracle.scale(CVaR(0.1))
    assert oracle_of(ObserveReturn(env)).values([policy.policy], [goal]) is None
