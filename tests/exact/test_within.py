"""The best of a class of policies, and where the value of a learned one is lost."""

from functools import cache

import jax.numpy as jnp
import numpy as np
import pytest

from fenchel import make, make_policy, train
from fenchel.errors import InputError
from fenchel.exact import best, class_optimum, played, split
from fenchel.objectives import CVaR, FenchelMeanVariance, MeanVariance
from fenchel.policies import DirectTabular, Tabular

GOAL = MeanVariance(1.0)
HOW = {"restarts": 6, "iterations": 500}


@cache
def optimum():
    return best("option", GOAL)


@cache
def of_class(kind):
    env = make("option", observe="index" if kind == "tabular" else "state")
    return class_optimum(env, make_policy(kind, env), GOAL, optimum=optimum(), **HOW)


def test_tables_come_within_a_millionth_of_the_certified_optimum():
    found = of_class("tabular")
    assert found.value == pytest.approx(0.241988, abs=1e-6)
    assert found.value <= found.optimum.upper
    assert found.gap == found.optimum.upper - found.value
    assert 0 <= found.gap <= 1e-6 * found.value
    assert len(found.values) == 6
    assert np.all(np.diff(found.values) >= 0)
    assert found.values[-1] == pytest.approx(found.value, rel=1e-12)


def test_the_policy_that_was_found_attains_the_value():
    found = of_class("tabular")
    law = played(make("option", observe="index"), found.policy).law
    assert law.mean_variance(1.0) == pytest.approx(found.value, rel=1e-12)
    np.testing.assert_allclose(found.played.law.probabilities, law.probabilities, rtol=1e-12)


def test_a_linear_class_is_below_tables():
    linear, tabular = of_class("linear"), of_class("tabular")
    assert linear.value < tabular.value - 1e-3
    assert linear.value > 0.22
    assert linear.gap > 10 * tabular.gap


def test_no_start_exceeds_the_certificate():
    for kind in ("tabular", "linear"):
        assert np.all(of_class(kind).values <= optimum().upper)


def test_the_first_policy_is_the_first_start():
    """From a start at the optimum of a table, nothing is lost, even with nothing else tried."""
    env = make("option", observe="index")
    table = optimum().policy.tabular().table
    policy = Tabular(30 * (2 * table[:, 1:] - 1))
    found = class_optimum(env, policy, GOAL, restarts=1, iterations=20, step_size=1e-6, optimum=optimum())
    assert found.value == pytest.approx(optimum().value, rel=1e-9)


def test_both_scales_and_tables_of_probabilities_are_welcome():
    """In a short problem, where the optimum is found to many digits."""
    env = make("option", horizon=4, put_strike=1.3, call_strike=1.2, observe="index")
    policy = DirectTabular(jnp.full((10, 2), 0.5))
    found = class_optimum(env, policy, FenchelMeanVariance(1.0), **HOW)
    assert isinstance(found.policy, Tabular)
    assert found.objective == GOAL
    assert found.value == pytest.approx(best(env, GOAL).value, rel=1e-8)
    assert found.gap >= 0


def test_classes_are_searched_for_other_objectives_too():
    env = make("stopping", "tradeoff", horizon=5, observe="index")
    goal = CVaR(0.3)
    found = class_optimum(env, make_policy("tabular", env), goal, **HOW)
    assert found.value == pytest.approx(found.optimum.value, rel=1e-3)
    assert found.value <= found.optimum.upper


def test_what_an_untrained_policy_loses_adds_up():
    env = make("option", observe="index")
    policy = make_policy("tabular", env)
    found = split(env, policy, GOAL, optimum=optimum(), **HOW)
    assert found.value == pytest.approx(played(env, policy).law.mean_variance(1.0), rel=1e-12)
    assert found.optimum == optimum().value
    assert found.optimum - found.class_loss - found.learning_loss == pytest.approx(found.value, rel=1e-12)
    assert found.within.value == pytest.approx(of_class("tabular").value, rel=1e-12)
    assert 0 <= found.class_loss < 1e-6 * found.optimum
    assert found.learning_loss > 0.1


def test_a_trained_policy_does_not_exceed_the_certificate():
    """Its returns are those of the exact law, within 4 standard errors."""
    result = train(
        "option",
        "mvp",
        policy="tabular",
        objective="mean-variance",
        episodes=50_000,
        batch_size=500,
        control_variate="batch",
        optimizer="adam",
        policy_step_size=0.2,
    )
    returns = np.asarray(result.returns(100_000), float)
    value = returns.mean() - returns.var()
    error = np.std(returns - (returns - returns.mean()) ** 2) / len(returns) ** 0.5
    env = make("option", observe="index")
    exact = split(env, result.policy, GOAL, optimum=optimum(), **HOW)
    assert value <= optimum().upper + 4 * error
    assert abs(value - exact.value) <= 4 * error
    assert abs(returns.mean() - exact.played.law.mean) <= 4 * np.std(returns) / len(returns) ** 0.5
    assert 0.2 < exact.value <= optimum().upper
    assert exact.learning_loss >= 0
    assert exact.optimum - exact.class_loss - exact.learning_loss == pytest.approx(exact.value, rel=1e-12)


@pytest.mark.parametrize(
    ("field", "value"),
    [("restarts", 0), ("iterations", 0), ("iterations", 1.5), ("step_size", 0.0), ("spread", -1.0)],
)
def test_numbers_that_make_no_sense_are_refused(field, value):
    env = make("option", horizon=2, observe="index")
    with pytest.raises(InputError) as caught:
        class_optimum(env, make_policy("tabular", env), GOAL, **{field: value})
    assert caught.value.field == field
