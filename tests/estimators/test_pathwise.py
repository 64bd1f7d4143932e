"""Derivatives through the environment: against the score function, and against finite differences."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from fenchel.envs import Allocation, Execution, make
from fenchel.errors import InputError
from fenchel.estimators import Pathwise, ScoreFunction, rollout
from fenchel.estimators.newton import Curvature
from fenchel.estimators.pathwise import curvature, slope
from fenchel.objectives import CVaR, FenchelMeanVariance, MeanVariance
from fenchel.policies import Central, DatedGaussian, make_policy

pytestmark = pytest.mark.slow

BATCHES, SIZE = 400, 64
MARKET = {"horizon": 2, "riskless": 1.01, "mean": (1.05, 1.02), "covariance": ((0.04, 0.01), (0.01, 0.02))}
OBJECTIVES = {
    "fenchel": (FenchelMeanVariance(0.7), 1.8),
    "cvar": (CVaR(0.3), 1.0),
}


def allocation(**limits):
    env = Allocation(**MARKET, **limits)
    shape = (2, 2, env.observation_space.shape[0] - 1)
    rng = np.random.default_rng(0)
    numbers = jnp.asarray(rng.normal(0.3, 0.2, shape[:2])), jnp.asarray(rng.normal(0, 0.3, shape))
    return env, DatedGaussian(jnp.log(jnp.array([0.3, 0.4])), *numbers)


CASES = {
    "costs and limits": allocation(cost=0.02, leverage=1.2, short=0.1),
    "execution": (
        Execution(horizon=2, shares=2.0, temporary=0.1, permanent=0.01),
        make_policy("dated", Execution(horizon=2)),
    ),
}


def directions(estimator, policy, objective, dual, seed):
    """The mean direction over independent batches, and its standard errors."""

    @jax.jit
    def one(key):
        episodes = estimator.sample(estimator.draw(key, policy), policy)
        return ravel_pytree(estimator.direction(policy, episodes, objective, dual))[0]

    found = np.asarray(jax.lax.map(one, jax.random.split(jax.random.key(seed), BATCHES)))
    return found.mean(axis=0), found.std(axis=0, ddof=1) / BATCHES**0.5


@pytest.mark.parametrize("name", CASES)
def test_pathwise_and_score_function_agree(name):
    env, policy = CASES[name]
    objective, dual = MeanVariance(0.7), jnp.asarray(0.9)
    one, own = directions(Pathwise(env, SIZE), policy, objective, dual, 1)
    other, error = directions(ScoreFunction(env, SIZE, "batch"), policy, objective, dual, 2)
    gap = np.hypot(own, error)
    assert np.all(np.abs(one - other) < 4.5 * gap + 1e-12)
    assert np.sum(own**2) < np.sum(error**2) / 4


@pytest.mark.parametrize("name", OBJECTIVES)
def test_directions_are_the_derivatives_of_the_batch(name):
    objective, dual = OBJECTIVES[name]
    env, policy = CASES["costs and limits"]
    estimator = Pathwise(env, 32)
    noise = estimator.draw(jax.random.key(0), policy)
    flat, restore = ravel_pytree(policy)

    @jax.jit
    def gain(theta):
        returns = rollout(env, restore(theta), noise).returns
        return jnp.mean(objective.weights(returns, dual, returns))

    @jax.jit
    def direction():
        episodes = estimator.sample(noise, policy)
        return ravel_pytree(estimator.direction(policy, episodes, objective, jnp.asarray(dual)))[0]

    along = np.random.default_rng(0).normal(size=(3, flat.size))
    near = [(gain(flat + 1e-7 * d) - gain(flat - 1e-7 * d)) / 2e-7 for d in along]
    np.testing.assert_allclose(along @ np.asarray(direction()), near, rtol=1e-5, atol=1e-7)


def test_curvature_is_that_of_the_objective_and_for_corners_that_of_the_trend():
    returns = jax.random.normal(jax.random.key(0), (20_000,))
    assert curvature(MeanVariance(0.7), returns, jnp.zeros(())).item() == pytest.approx(1.4)
    level = 0.3
    cvar = CVaR(level)
    found = curvature(cvar, returns, cvar.best_dual(returns)).item()
    density = np.exp(-(cvar.best_dual(returns) ** 2) / 2) / np.sqrt(2 * np.pi)
    assert found == pytest.approx(density / level, rel=0.05)
    assert np.all(slope(cvar, returns, jnp.zeros(()))[returns > 0.1] == 0)


def test_a_newton_step_solves_what_is_quadratic():
    rng = np.random.default_rng(0)
    gradients = jnp.asarray(rng.normal(size=(500, 6)) * [1, 10, 0.1, 1, 1, 0])
    known = Curvature.unknown(6).add(gradients, jnp.asarray(2.0))
    wanted = jnp.asarray(rng.normal(size=6)).at[5].set(0)
    late = jnp.array([False, False, True, False, False, False])
    step = np.asarray(jax.jit(known.step)(wanted, late))
    assert (step[2], step[5]) == (0, 0)
    kept = [0, 1, 3, 4]
    matrix = 2 * np.cov(np.asarray(gradients).T, ddof=0)[np.ix_(kept, kept)]
    np.testing.assert_allclose(step[kept], np.linalg.solve(matrix, np.asarray(wanted)[kept]), rtol=1e-3)


def test_one_newton_step_on_constants_is_the_best_of_them():
    env = Allocation(**{**MARKET, "horizon": 1})
    start = Central(make_policy("dated", env))
    estimator = Pathwise(env, 2048, newton=True)
    objective = MeanVariance(2.0)

    @jax.jit
    def step(key):
        episodes = estimator.sample(estimator.draw(key, start), start)
        dual = objective.best_dual(episodes.returns)
        memory = estimator.remember(estimator.init(start), start, episodes, objective, dual)
        return estimator.direction(start, episodes, objective, dual, memory)

    moved = eqx.apply_updates(start, step(jax.random.key(0)))
    best = np.linalg.solve(np.array(MARKET["covariance"]), np.array(MARKET["mean"]) - 1.01) / 4
    np.testing.assert_allclose(moved.policy.constants[0], best, atol=1e-3)


def test_what_has_no_derivatives_is_refused():
    with pytest.raises(InputError, match="AmericanOption has none: use 'score'"):
        Pathwise(make("option"), 8)
    with pytest.raises(InputError, match="at least 2"):
        Pathwise(Allocation(), 1, newton=True)
