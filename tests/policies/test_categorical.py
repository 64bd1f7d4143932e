"""Discrete policies: probabilities, sampling, and derivatives of the log-probability."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.test_util import check_grads

from fenchel.errors import InputError
from fenchel.policies import DirectTabular, LinearSoftmax, MLPSoftmax, Network, Raw, Tabular
from fenchel.policies.categorical import log_prob_of

logits = st.sampled_from([1, 3]).flatmap(lambda n: st.lists(st.floats(-30, 30), min_size=n, max_size=n))


def plain_log_prob(epsilon, values, action):
    """The definition, without any care for speed or overflow."""
    weights = jnp.concatenate([jnp.ones(1), jnp.exp(values)])
    soft = weights / jnp.sum(weights)
    return jnp.log(epsilon + (1 - soft.shape[0] * epsilon) * soft[action])


@partial(jax.jit, static_argnums=0)
def two_derivatives(epsilon, values, action):
    """Value, gradient and Hessian of the library's function and of the definition."""
    derivatives = (lambda f: f, jax.grad, jax.hessian)
    return [
        [derive(partial(function, epsilon))(values, action) for derive in derivatives]
        for function in (log_prob_of, plain_log_prob)
    ]


def network(outputs, inputs=2):
    made = Network.initial(inputs, (5,), outputs, jax.random.key(3))
    weight = 0.5 * jax.random.normal(jax.random.key(4), (outputs, 5))
    return eqx.tree_at(lambda net: net.layers[-1].weight, made, weight)


def policies(actions, epsilon):
    rows = jax.random.normal(jax.random.key(0), (4, actions - 1))
    weights = jax.random.normal(jax.random.key(1), (actions - 1, 2))
    state, features = jnp.array(2), jnp.array([0.3, -1.2])
    return [
        (Tabular(rows, epsilon=epsilon), state),
        (LinearSoftmax(weights, Raw(2), epsilon=epsilon), features),
        (MLPSoftmax(network(actions - 1), Raw(2), epsilon=epsilon), features),
    ]


CASES = [case for actions in (2, 4) for epsilon in (0.0, 0.05) for case in policies(actions, epsilon)]
DIRECT = DirectTabular(jnp.array([[0.5, 0.5, 0.0], [0.2, 0.5, 0.3], [0.0, 1.0, 0.0]]))
ALL = [*CASES, *((DIRECT, jnp.array(s)) for s in range(3))]


@pytest.mark.parametrize(("policy", "observation"), ALL)
def test_probabilities_sum_to_one_and_log_prob_is_their_logarithm(policy, observation):
    chances = policy.probabilities(observation)
    np.testing.assert_allclose(chances.sum(), 1, rtol=1e-14)
    for action, chance in enumerate(chances):
        if chance > 0:
            np.testing.assert_allclose(jnp.exp(policy.log_prob(observation, jnp.array(action))), chance)
    assert policy.mode(observation) == jnp.argmax(chances)
    assert policy.mode(observation).dtype == jnp.int32


@pytest.mark.parametrize(("policy", "observation"), ALL)
def test_frequencies(policy, observation):
    count = 40_000
    noise = policy.draw(jax.random.key(7), (count,))
    actions, log_probs = jax.jit(jax.vmap(lambda one: policy.sample(one, observation)))(noise)
    chances = np.asarray(policy.probabilities(observation))
    seen = np.bincount(actions, minlength=chances.size) / count
    assert np.all(np.abs(seen - chances) <= 4 * np.sqrt(chances * (1 - chances) / count))
    np.testing.assert_allclose(log_probs, np.log(chances[actions]), rtol=1e-12)
    assert actions.dtype == jnp.int32


def log_probs(policy, observation):
    """Those of all actions."""
    actions = jnp.arange(policy.probabilities(observation).size)
    return jax.vmap(policy.log_prob, (None, 0))(observation, actions)


@pytest.mark.parametrize(("policy", "observation"), CASES)
def test_gradient_against_finite_differences(policy, observation):
    check_grads(jax.jit(lambda p: log_probs(p, observation)), (policy,), order=1, rtol=1e-5, atol=1e-6)


@given(values=logits, data=st.data(), epsilon=st.sampled_from([0.0, 0.19]))
@settings(max_examples=60, deadline=None)
def test_custom_derivatives_equal_plain_ones(values, data, epsilon):
    values = jnp.array(values)
    action = jnp.array(data.draw(st.integers(0, values.size)))
    ours, plain = two_derivatives(epsilon, values, action)
    for one, other in zip(ours, plain, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("far", [-1e4, 1e4])
def test_extreme_logits_stay_finite(size, far):
    values = jnp.full(size, far)
    for action in range(size + 1):
        value, slope = jax.value_and_grad(lambda z, a=action: log_prob_of(0.0, z, jnp.array(a)))(values)
        assert jnp.isfinite(value)
        assert jnp.all(jnp.isfinite(slope))


@given(values=logits, epsilon=st.floats(0, 0.199))
@settings(max_examples=60, deadline=None)
def test_epsilon_is_the_least_probability(values, epsilon):
    chances = Tabular(jnp.array([values]), epsilon=epsilon).probabilities(jnp.array(0))
    assert chances.min() >= epsilon * (1 - 1e-12)
    np.testing.assert_allclose(chances.sum(), 1, rtol=1e-13)


@pytest.mark.parametrize("epsilon", [-0.1, 0.5, 1.0, float("nan")])
def test_epsilon_is_checked(epsilon):
    with pytest.raises(InputError, match="epsilon"):
        Tabular(jnp.zeros((3, 1)), epsilon=epsilon)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
@pytest.mark.parametrize("actions", [2, 3])
def test_types_follow_the_parameters(dtype, epsilon, actions):
    for policy, observation in policies(actions, epsilon):
        cast = jax.tree.map(lambda x: x.astype(dtype), policy)
        score = jax.value_and_grad(lambda p, o=observation: p.log_prob(o, jnp.array(1)))
        value, slope = jax.jit(score)(cast)
        assert value.dtype == dtype
        assert {leaf.dtype for leaf in jax.tree.leaves(slope)} == {jnp.dtype(dtype)}
        assert cast.probabilities(observation).dtype == dtype


def test_rounding_never_selects_an_impossible_action():
    """The largest uniform in single precision, against rows whose sum is one up to rounding."""
    noise = jnp.float32(1 - 2**-24)
    for total in np.linspace(1 - 1e-6, 1 + 1e-6, 101):
        pair = DirectTabular(jnp.array([[total, 0.0]], jnp.float32))
        three = DirectTabular(jnp.array([[total / 3, 2 * total / 3, 0.0]], jnp.float32))
        assert pair.sample(noise, jnp.array(0))[0] == 0
        assert three.sample(noise, jnp.array(0))[0] == 1


def test_direct_gradient_is_one_over_the_probability():
    slope = jax.grad(lambda p: p.log_prob(jnp.array(1), jnp.array(0)))(DIRECT).table
    np.testing.assert_allclose(slope, [[0, 0, 0], [5, 0, 0], [0, 0, 0]])


def test_direct_zero_probability_is_finite():
    value, slope = jax.value_and_grad(lambda p: p.log_prob(jnp.array(0), jnp.array(2)))(DIRECT)
    assert jnp.isfinite(value)
    assert not slope.table.any()


@pytest.mark.parametrize(("policy", "observation"), CASES)
def test_score_has_mean_zero(policy, observation):
    """Σ_a π(a|s) ∇ log π(a|s) = 0."""
    chances = policy.probabilities(observation)
    scores = jax.jit(jax.grad(lambda p: chances @ log_probs(p, observation)))(policy)
    for leaf in jax.tree.leaves(scores):
        np.testing.assert_allclose(leaf, 0, atol=1e-14)


def test_unused_log_prob_costs_nothing():
    """Sampling an action compiles to a program without a logarithm."""
    for policy, observation in CASES[:2]:
        sample = jax.jit(lambda noise, p=policy, o=observation: p.sample(noise, o)[0])
        text = sample.lower(jnp.array(0.5)).compile().as_text()
        assert " log(" not in text
        assert "log-plus-one" not in text


def test_tables_take_indices_only():
    with pytest.raises(InputError, match=r"float64\[2\].*linear or mlp"):
        Tabular(jnp.zeros((3, 1))).probabilities(jnp.zeros(2))
    with pytest.raises(InputError, match="table"):
        DirectTabular(jnp.ones((3, 1)))
    with pytest.raises(InputError, match="table"):
        Tabular(jnp.zeros(3))


def test_shapes_are_checked():
    with pytest.raises(InputError, match=r"weights\.shape = \(1, 3\).*size 2"):
        LinearSoftmax(jnp.zeros((1, 3)), Raw(2))
    with pytest.raises(InputError, match=r"network\.inputs = 3: must be 2"):
        MLPSoftmax(network(1, inputs=3), Raw(2))


def test_network_is_that_of_equinox():
    ours = network(2)
    theirs = eqx.nn.MLP(2, 2, 5, 1, activation=jnp.tanh, key=jax.random.key(0))
    theirs = eqx.tree_at(lambda mlp: mlp.layers, theirs, ours.layers)
    values = jnp.array([0.2, -3.0])
    np.testing.assert_allclose(ours(values), theirs(values))
    assert all(eqx.is_array(leaf) for leaf in jax.tree.leaves(ours))
