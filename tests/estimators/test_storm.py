"""Variance-reduced directions: right on average, of less scatter, and a plain direction without momentum."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from estimators.support import averages, case, errors
from jax.flatten_util import ravel_pytree

import fenchel
from fenchel.errors import InputError
from fenchel.estimators import ScoreFunction, Storm
from fenchel.objectives import MeanVariance
from fenchel.policies import Tabular

GOAL = MeanVariance(0.5)
LIMIT = 4


def test_a_batch_speaks_for_the_policy_before_without_bias():
    """With a = 1/2 and no direction before, d − g is half of minus what the batch says of the policy then."""
    here = case("stopping", "tabular")
    mean, variance, mean_slope, _ = here.moments()
    inner = ScoreFunction(here.env, 64)
    storm, dual = Storm(inner, 0.5), jnp.asarray(mean)
    moved = Tabular(here.policy.table + 0.2)

    def then(noise):
        episodes = storm.sample(noise, moved)
        start = (jnp.ones((), jnp.int32), here.policy, jax.tree.map(jnp.zeros_like, here.policy), None)
        direction = storm.remember(start, moved, episodes, GOAL, dual)[2]
        plain = inner.direction(moved, episodes, GOAL, dual)
        return 2 * (ravel_pytree(plain)[0] - ravel_pytree(direction)[0])

    exact = here.expect(lambda ret: ret - 0.5 * (ret - mean) ** 2)[1]
    assert np.linalg.norm(mean_slope) > 0
    assert variance > 0
    estimate = averages(lambda key: storm.draw(key, moved), then, 400)
    assert errors(estimate, exact).max() < LIMIT


def test_along_a_slow_path_the_scatter_falls_below_that_of_a_batch():
    here = case("stopping", "tabular")
    inner, dual = ScoreFunction(here.env, 16), jnp.asarray(here.moments()[0])
    storm = Storm(inner, 0.1)

    def step(memory, key):
        count = memory[0]
        policy = Tabular(here.policy.table + 1e-3 * count)
        episodes = storm.sample(storm.draw(key, policy), policy)
        memory = storm.remember(memory, policy, episodes, GOAL, dual)
        plain = inner.direction(policy, episodes, GOAL, dual)
        return memory, jnp.stack([plain.table, memory[2].table])

    keys = jax.random.split(jax.random.key(0), (64, 40))
    last = jax.vmap(lambda ks: jax.lax.scan(step, storm.init(here.policy), ks)[1][-1])(keys)
    plain, reduced = np.asarray(last).var(axis=0).sum(axis=(1, 2))
    assert reduced < 0.35 * plain  # a / (2 − a) of it, were the policy at rest: 0.05


def test_without_momentum_it_is_the_score_function():
    how = {"episodes": 2000, "batch_size": 50, "policy_step_size": 0.05, "seed": 3}
    plain = fenchel.train("stopping", "mvp", policy="tabular", **how)
    storm = fenchel.train("stopping", "mvp", policy="tabular", estimator="storm", momentum=1.0, **how)
    np.testing.assert_allclose(storm.policy.table, plain.policy.table, rtol=1e-9, atol=1e-12)
    assert np.any(np.asarray(plain.policy.table) != 0)


def test_what_does_not_go_with_it_is_refused():
    refused = [
        ({"estimator": "storm", "momentum": 0.0}, "momentum"),
        ({"momentum": 0.5}, "belongs to estimator 'storm'"),
        ({"estimator": "strom"}, "did you mean 'storm'"),
        ({"estimator": "storm", "algorithm": "tamar"}, "tamar does not"),
        ({"estimator": "storm", "algorithm": "bca", "entropy": 0.1}, "entropy"),
    ]
    for settings, message in refused:
        with pytest.raises(InputError, match=message):
            fenchel.train("stopping", **settings)
