"""Gaussian policies against SciPy."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads
from scipy import stats

from fenchel.errors import InputError
from fenchel.policies import LinearGaussian, MLPGaussian, Network, Raw

STATE = jnp.array([0.3, -1.2])


def network(outputs):
    made = Network.initial(2, (5,), outputs, jax.random.key(3))
    return eqx.tree_at(lambda net: net.layers[-1].weight, made, jnp.ones((outputs, 5)) / 3)


POLICIES = [
    LinearGaussian(jnp.log(jnp.array([0.5, 2.0, 1.0])), jax.random.normal(jax.random.key(0), (3, 2)), Raw(2)),
    LinearGaussian(jnp.log(0.7), jnp.array([1.0, 2.0]), Raw(2)),
    LinearGaussian(jnp.zeros((2, 2)), jnp.ones((2, 2, 2)), Raw(2)),
    MLPGaussian(jnp.log(jnp.array([0.5, 2.0])), network(2), Raw(2)),
    MLPGaussian(jnp.log(jnp.array([[0.5], [2.0]])), network(2), Raw(2)),
]


@pytest.mark.parametrize("policy", POLICIES)
def test_log_density(policy):
    action, log_density = policy.sample(policy.draw(jax.random.key(5), ()), STATE)
    assert action.shape == policy.log_std.shape
    law = stats.norm(np.asarray(policy.mean(STATE)), np.exp(policy.log_std))
    np.testing.assert_allclose(log_density, law.logpdf(action).sum())
    np.testing.assert_allclose(policy.log_prob(STATE, action), law.logpdf(action).sum())
    np.testing.assert_array_equal(policy.mode(STATE), policy.mean(STATE))


@pytest.mark.parametrize("policy", POLICIES)
def test_moments(policy):
    count = 20_000
    noise = policy.draw(jax.random.key(5), (count,))
    actions, _ = jax.jit(jax.vmap(lambda one: policy.sample(one, STATE)))(noise)
    scaled = (np.asarray(actions) - np.asarray(policy.mean(STATE))) / np.exp(policy.log_std)
    assert np.all(np.abs(scaled.mean(0)) < 4 / np.sqrt(count))
    assert np.all(np.abs((scaled**2).mean(0) - 1) < 4 * np.sqrt(2 / count))


@pytest.mark.parametrize("policy", POLICIES)
def test_gradient_against_finite_differences(policy):
    params, rest = eqx.partition(policy, eqx.is_inexact_array)
    action = policy.mean(STATE) + 0.4

    @jax.jit
    def score(params):
        return eqx.combine(params, rest).log_prob(STATE, action)

    check_grads(score, (params,), order=1, rtol=1e-6, atol=1e-6)


def test_samples_are_pathwise_differentiable():
    policy, noise = POLICIES[0], jnp.array([0.3, -1.0, 2.0])
    slope = jax.grad(lambda p: p.sample(noise, STATE)[0].sum())(policy)
    np.testing.assert_allclose(slope.weights, np.tile(STATE, (3, 1)))
    np.testing.assert_allclose(slope.log_std, noise * jnp.exp(policy.log_std))


@pytest.mark.parametrize("policy", POLICIES)
def test_single_precision_stays_single(policy):
    cast = jax.tree.map(lambda x: x.astype(jnp.float32), policy)
    action, log_density = cast.sample(cast.draw(jax.random.key(5), ()), STATE)
    assert (action.dtype, log_density.dtype) == (jnp.float32, jnp.float32)
    assert cast.log_prob(STATE, action.astype(jnp.float64)).dtype == jnp.float32


def test_shapes_are_checked():
    with pytest.raises(InputError, match=r"weights\.shape = \(3, 3\): must be \(3, 2\)"):
        LinearGaussian(jnp.zeros(3), jnp.zeros((3, 3)), Raw(2))
    with pytest.raises(InputError, match=r"network\.outputs = 2: must be 3"):
        MLPGaussian(jnp.zeros(3), network(2), Raw(2))
    with pytest.raises(InputError, match=r"network\.inputs = 2: must be 4"):
        MLPGaussian(jnp.zeros(2), network(2), Raw(4))
