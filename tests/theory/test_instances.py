"""Exact gradients and constants of the small instances."""

import jax.numpy as jnp
import numpy as np
import pytest

import fenchel
from fenchel import InputError, make
from fenchel.exact import gradient, played
from fenchel.policies import Tabular
from fenchel.theory import (
    Instance,
    bias_slope,
    far_from_zero,
    policy_errors,
    proved_constants,
    searched_constants,
    straddle,
    waiting,
)

MADE = [straddle(), waiting(), far_from_zero()]
each = pytest.mark.parametrize("instance", MADE, ids=lambda one: one.name)


def points(instance, count=5):
    generator = np.random.default_rng(3)
    low, high = instance.dual_range
    theta = 2 * generator.normal(size=(count, instance.states))
    return theta, generator.uniform(low, high, size=count)


@each
def test_gradients_are_those_of_the_exact_law(instance):
    theta, dual = points(instance)
    found, slope = instance.gradients(theta, dual)
    for k in range(len(theta)):
        policy = Tabular(jnp.asarray(theta[k][:, None]))
        exact = gradient(instance.problem, policy, instance.objective, dual=dual[k])
        law = played(instance.problem, policy).law
        scale = max(1, np.abs(found).max())
        assert np.allclose(found[k], exact.table[:, 0], atol=1e-12 * scale)
        assert np.isclose(slope[k], 2 * law.mean + 1 / instance.risk_aversion - 2 * dual[k])
    squares = np.sum(found**2, axis=1) + slope**2
    assert np.allclose(instance.squared_norms(theta, dual), squares)


@each
def test_paths_are_all_there_is(instance):
    theta, _ = points(instance)
    play = instance.paths.play(theta)
    assert np.allclose(play.chance.sum(axis=1), 1)
    assert np.allclose(play.slope(np.ones(len(instance.paths.returns))), 0, atol=1e-14)
    assert len(instance.paths.returns) == 2 ** (instance.problem.horizon + 1) - 1


def test_curvature_is_the_derivative_of_the_slope():
    instance = straddle()
    theta, dual = points(instance, 1)
    shifts = 1e-5 * np.eye(instance.states)
    utility = instance.surrogate(dual)
    ahead, behind = (instance.paths.play(theta + sign * shifts).slope(utility) for sign in (1, -1))
    assert np.allclose(instance.paths.play(theta).curvature(utility)[0], (ahead - behind) / 2e-5, atol=1e-9)


@each
def test_nothing_is_better_than_the_certified_best(instance):
    theta, dual = points(instance, 2000)
    values = instance.paths.play(5 * theta).mean(instance.surrogate(dual))
    assert np.max(values) <= instance.best + 1e-9 * abs(instance.best)
    assert instance.gap > 0


@each
def test_constants_that_are_found_do_not_exceed_those_that_are_proved(instance):
    proved, found = proved_constants(instance), searched_constants(instance, points=32, rounds=200)
    for name in ("smoothness", "gradient", "deviation", "bias"):
        assert 0.01 * getattr(proved, name) < getattr(found, name) <= getattr(proved, name) * (1 + 1e-12)
    fewer = searched_constants(instance, points=32, rounds=20)
    assert fewer.deviation <= found.deviation
    assert searched_constants(instance, points=32, rounds=20) == fewer


def test_the_search_reaches_what_is_known():
    """One decision between two sure returns: ‖∇J‖ = D/4, and G and σ of the dual are attained."""
    env = make("option", observe="index", horizon=1, start=1.0, up=1.5, down=0.5, up_probability=0.0)
    instance = Instance("one", env, risk_aversion=1.0)
    proved, found = proved_constants(instance), searched_constants(instance, rounds=600)
    assert instance.returns.tolist() == [0, 0.5]
    assert np.isclose(found.smoothness, proved.smoothness, rtol=1e-3)
    assert np.isclose(found.gradient, proved.gradient, rtol=1e-3)


@each
def test_variance_and_mean_of_the_error(instance):
    """The same by two more routes: E‖X‖² from the parts of X, and the mean as 4β (∇M − J ∇J)."""
    theta, dual = points(instance, 1)
    play = instance.paths.play(theta[0])
    errors = policy_errors(instance, play, dual[0], np.array(0.3))
    scale = np.abs(errors).max()
    assert np.allclose(play.chance @ errors, 0.3 * bias_slope(play), atol=1e-12 * scale)
    moved = 0.4 * dual[0] + 0.6 * (play.returns + instance.shift)
    sampled = (2 * moved * play.returns - play.returns**2)[:, None] * play.scores
    target = 2 * moved[:, None] * play.slope(play.returns) - play.slope(play.returns**2)
    parts = [
        play.mean(np.sum(x * y, axis=1)) for x, y in ((sampled, sampled), (sampled, target), (target, target))
    ]
    assert np.isclose(play.mean(np.sum(errors**2, axis=1)), parts[0] - 2 * parts[1] + parts[2])


def test_the_dual_stays_in_its_range():
    """With β^y ≤ ½ it moves to a point between itself and R + 1/(2λ)."""
    instance = straddle()
    result = fenchel.sweep(
        instance.env,
        "mvp",
        policy="tabular",
        risk_aversion=instance.risk_aversion,
        dual=instance.first_dual,
        episodes=200,
        policy_step_size=0.01,
        dual_step_size=0.5,
        seed=range(8),
        records=200,
    )
    low, high = instance.dual_range
    seen = result.metrics["dual"]
    assert low - 1e-12 <= seen.min() < seen.max() <= high + 1e-12
    assert seen.max() - seen.min() > 0.5 * (high - low)


def test_problems_that_the_proofs_do_not_cover_are_refused(monkeypatch):
    with pytest.raises(InputError, match="states shown by number"):
        Instance("seen by price", make("option", horizon=2))
    with pytest.raises(InputError, match="risk_aversion"):
        straddle(risk_aversion=0.0)
    monkeypatch.setattr("fenchel.theory.paths.MOST_PATHS", 10)
    with pytest.raises(InputError, match="more than 10 paths"):
        _ = straddle().paths
