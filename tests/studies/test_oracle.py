"""What is known without learning: scales, and what many policies are worth."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fenchel
from fenchel import exact
from fenchel.envs import make
from fenchel.errors import InputError
from fenchel.policies import Tabular, make_policy
from fenchel.studies import FiniteOracle, PortfolioOracle, oracle_of
from fenchel.studies.oracle import sampled_returns

pytestmark = pytest.mark.slow


def tables(env, count, seed=0):
    keys = jax.random.split(jax.random.key(seed), count)
    return [Tabular(jax.random.normal(key, (env.state_count, 1))) for key in keys]


def test_worth_is_that_of_each_policy_s_law():
    env = make("stopping", "tradeoff", "index", horizon=5)
    policies = tables(env, 3)
    worth = oracle_of(env).worth(policies)
    laws = [exact.played(env, policy).law for policy in policies]
    np.testing.assert_allclose(worth.mean, [law.mean for law in laws], rtol=1e-12)
    np.testing.assert_allclose(worth.std, [law.std for law in laws], rtol=1e-9)
    np.testing.assert_allclose(
        worth.chances, np.mean([law.probabilities for law in laws], axis=0), atol=1e-14
    )


def test_sampled_worth_agrees_with_the_exact_one():
    env = make("option", observe="index", horizon=6)
    policies = tables(env, 3, seed=1)
    returns = sampled_returns(env, policies, 20_000)
    worth = oracle_of(env).worth(policies)
    error = worth.std / np.sqrt(returns.shape[1])
    assert np.all(np.abs(returns.mean(axis=1) - worth.mean) < 4 * error)


@pytest.mark.parametrize(
    "objective", [fenchel.MeanVariance(1.0), fenchel.FenchelMeanVariance(1.0), fenchel.CVaR(0.2)]
)
def test_scale_goes_from_the_uniform_policy_to_the_certified_optimum(objective):
    env = make("option", observe="index", horizon=6)
    scale = oracle_of(env).scale(objective)
    uniform = exact.played(env, Tabular(jnp.zeros((env.state_count, 1))))
    assert scale.uniform == pytest.approx(uniform.law.value(objective), rel=1e-12)
    assert scale.upper == pytest.approx(exact.best(env, objective.natural()).upper, rel=1e-8)
    assert scale.uniform < scale.attained <= scale.upper


def test_the_scale_of_the_portfolio_is_bounded():
    env = make("portfolio", observe="return", horizon=5)
    oracle = oracle_of(env)
    assert isinstance(oracle, PortfolioOracle)
    finite = FiniteOracle(env, exact.enumerate_environment(make("portfolio", horizon=5)))
    found = oracle.best_schedule(0.3, restarts=4, iterations=20)
    truth = finite.scale(fenchel.MeanVariance(0.3))
    assert found.value <= truth.attained + 1e-9
    assert truth.upper <= found.upper + 1e-9
    uniform = finite.uniform.law
    error = uniform.std / np.sqrt(len(oracle.uniform_returns))
    assert abs(oracle.uniform_returns.mean() - uniform.mean) < 4 * error
    assert oracle.uniform_value(fenchel.MeanVariance(0.3)) == pytest.approx(truth.uniform, abs=20 * error)


def test_what_the_portfolio_has_no_bound_for_is_said():
    with pytest.raises(InputError, match=r"CVaR.*mean-variance has one"):
        oracle_of(make("portfolio", horizon=5)).scale(fenchel.CVaR(0.1))


def test_policies_that_see_the_reward_so_far_are_evaluated_too():
    env = make("stopping", "tradeoff", "return", horizon=4)
    policy = make_policy("linear", env)
    worth = oracle_of(env).worth([policy, policy])
    law = exact.played(env, policy).law
    np.testing.assert_allclose(worth.mean, law.mean, rtol=1e-12)
