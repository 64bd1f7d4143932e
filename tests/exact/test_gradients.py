"""The law of the return and exact gradients, against enumeration of trajectories and finite differences."""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from estimators.support import POLICIES, SETTINGS, case
from jax.flatten_util import ravel_pytree
from reference import enumeration

from fenchel import make, make_policy
from fenchel.envs import AmericanOption
from fenchel.errors import InputError
from fenchel.exact import Evaluator, enumerate_environment, finite_problem, gradient, played
from fenchel.objectives import CVaR, Entropic, Expectation, FenchelMeanVariance, MeanVariance
from fenchel.policies import LinearGaussian, Raw, Tabular

CASES = [(name, kind) for name in SETTINGS for kind in POLICIES]
SOME = CASES[:8:2] + CASES[9::2]
"""Every environment and every policy twice: each takes JAX seconds to compile."""

RISK_AVERSION = 0.5
DUAL = 0.8


@cache
def problem_of(name, kind):
    return enumerate_environment(case(name, kind).env)


def trajectory_law(here):
    """Returns in rising order, and their probabilities."""
    found = {}
    for one in here.trajectories:
        chance, _ = enumeration.likelihood(one, here.twin, here.theta)
        ret = round(float(one.ret), 10)
        found[ret] = found.get(ret, 0.0) + chance
    return np.array(sorted(found.items())).T


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_the_law_is_that_of_all_trajectories(name, kind):
    here, problem = case(name, kind), problem_of(name, kind)
    law = played(problem, here.policy).law
    values, chances = trajectory_law(here)
    np.testing.assert_allclose(law.values, values, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(law.probabilities, chances, rtol=1e-9, atol=1e-12)
    assert law.probabilities.sum() == pytest.approx(1, rel=1e-12)
    mean, variance, *_ = here.moments()
    assert law.mean == pytest.approx(mean, rel=1e-9)
    assert law.variance == pytest.approx(variance, rel=1e-9)
    assert law.mean_variance(RISK_AVERSION) == pytest.approx(mean - RISK_AVERSION * variance, rel=1e-9)
    worst = values[0] - np.log(chances @ np.exp(values[0] - values))
    assert law.entropic(1.0) == pytest.approx(worst, rel=1e-9)


def slopes_of_trajectories(here):
    """Objectives, duals (None is the best), and the gradients that enumeration finds."""
    _mean, _, mean_slope, variance_slope = here.moments()
    values, chances = trajectory_law(here)
    quantile = float(values[np.searchsorted(np.cumsum(chances), 0.3)])
    entropic = -np.log(chances @ np.exp(-values))

    def paper(ret):
        return 2 * DUAL * (ret + 1 / (2 * RISK_AVERSION)) - DUAL**2 - ret**2

    return [
        (Expectation(), None, mean_slope),
        (MeanVariance(RISK_AVERSION), None, mean_slope - RISK_AVERSION * variance_slope),
        (FenchelMeanVariance(RISK_AVERSION), DUAL, here.expect(paper)[1]),
        (Entropic(1.0), None, here.expect(lambda ret: -np.exp(entropic - ret))[1]),
        (CVaR(0.3), None, here.expect(lambda ret: -max(quantile - ret, 0) / 0.3)[1]),
    ]


def assert_gradient(found, exact, name):
    np.testing.assert_allclose(ravel_pytree(found)[0], exact, rtol=1e-8, atol=1e-10, err_msg=name)


@pytest.mark.parametrize(("name", "kind"), SOME)
def test_exact_gradients_are_those_of_all_trajectories(name, kind):
    here, evaluator = case(name, kind), Evaluator.of(problem_of(name, kind))
    cases = slopes_of_trajectories(here)

    def values(policy):
        law = evaluator.law(policy)
        return jnp.stack([evaluator.value(policy, objective, dual) for objective, dual, _ in cases]), law

    found, law = jax.jit(jax.jacrev(values, has_aux=True))(here.policy)
    np.testing.assert_allclose(law, trajectory_law(here)[1], rtol=1e-9, atol=1e-12)
    for row, (objective, _, exact) in enumerate(cases):
        assert_gradient(jax.tree.map(lambda x, row=row: x[row], found), exact, repr(objective))


@pytest.mark.parametrize(("name", "kind", "rows"), [("option", "mlp", (1, 4)), ("stopping", "tabular", (2,))])
def test_gradients_in_one_call(name, kind, rows):
    here = case(name, kind)
    for objective, dual, exact in (slopes_of_trajectories(here)[row] for row in rows):
        assert_gradient(
            gradient(problem_of(name, kind), here.policy, objective, dual), exact, repr(objective)
        )


def policies():
    """Policies of longer instances."""
    option = AmericanOption(horizon=6, put_strike=1.8, call_strike=1.9, discount=0.97)
    numbered = make("stopping", "tradeoff", horizon=5, observe="index")
    return {
        "tabular": (numbered, make_policy("tabular", numbered)),
        "rbf, soft": (option, make_policy("linear", option, features="rbf", rbf_grid=(3, 2), epsilon=0.1)),
        "mlp": (option, make_policy("mlp", option, hidden=(3,), key=jax.random.key(0))),
    }


FUNCTIONS = {
    "J": lambda evaluator, policy: evaluator.mean(policy),
    "M": lambda evaluator, policy: evaluator.second_moment(policy),
    "J − λ Var": lambda evaluator, policy: evaluator.mean_variance(policy, 2.0),
    "f̂": lambda evaluator, policy: evaluator.value(policy, FenchelMeanVariance(2.0), 0.4),
    "entropic": lambda evaluator, policy: evaluator.value(policy, Entropic(1.5)),
    "cvar": lambda evaluator, policy: evaluator.value(policy, CVaR(0.25)),
}


@pytest.mark.parametrize("kind", policies())
def test_exact_gradients_are_finite_differences(kind):
    env, policy = policies()[kind]
    evaluator = Evaluator.of(enumerate_environment(env))
    flat, restore = ravel_pytree(policy)
    theta = flat + jnp.asarray(np.random.default_rng(1).normal(0, 0.5, flat.size))

    @jax.jit
    def values(theta):
        return jnp.stack([function(evaluator, restore(theta)) for function in FUNCTIONS.values()])

    slopes = np.asarray(jax.jit(jax.jacrev(values))(theta))
    shifts = 1e-3 * jnp.eye(flat.size)
    up, down, far_up, far_down = (
        np.array([values(theta + step * shift) for shift in shifts]) for step in (1, -1, 2, -2)
    )
    differences = (8 * (up - down) - (far_up - far_down)).T / 12e-3  # exact to the fourth order
    for name, slope, difference in zip(FUNCTIONS, slopes, differences, strict=True):
        size = np.max(np.abs(difference))
        assert size > 1e-4
        np.testing.assert_allclose(slope, difference, rtol=1e-6, atol=1e-6 * size, err_msg=name)


def test_jit_and_vmap_change_nothing():
    env = make("option", horizon=3, observe="index")
    evaluator = Evaluator.of(enumerate_environment(env))
    tables = jax.random.normal(jax.random.key(0), (2, 6, 1))

    def law_and_slope(policy):
        return evaluator.law(policy), jax.grad(evaluator.mean)(policy).table

    laws, slopes = jax.jit(jax.vmap(law_and_slope))(eqx.filter_vmap(Tabular)(tables))
    alone = [law_and_slope(Tabular(tables[0])), jax.jit(law_and_slope)(Tabular(tables[1]))]
    for row, (law, slope) in enumerate(alone):
        np.testing.assert_allclose(laws[row], law, rtol=1e-12)
        np.testing.assert_allclose(slopes[row], slope, rtol=1e-10, atol=1e-14)


def test_the_law_of_numbers_of_chances_is_that_of_the_policy():
    env = make("stopping", "tradeoff", horizon=4, observe="index")
    problem = enumerate_environment(env)
    evaluator, policy = Evaluator.of(problem), make_policy("tabular", env)
    np.testing.assert_allclose(evaluator.chances(policy), 0.5, rtol=1e-15)
    np.testing.assert_allclose(evaluator.law_of(jnp.full((10, 2), 0.5)), evaluator.law(policy), rtol=1e-15)


def test_actions_that_are_not_allowed_are_left_out_and_the_rest_scaled_up():
    """Three actions worth 1, 2, 3, of which state 0 has the last two; probabilities 0.2, 0.3, 0.5."""
    end = np.broadcast_to([0.0, 0.0, 1.0], (3, 3, 3))
    payoff = np.tile([1.0, 2.0, 3.0], (3, 1))
    allowed = np.array([[False, True, True], [True, True, True], [True, True, True]])
    start = np.array([0.5, 0.5, 0.0])
    problem = finite_problem(end, payoff, start, horizon=1, terminal=[False, False, True], allowed=allowed)
    policy = Tabular(jnp.tile(jnp.log(jnp.array([1.5, 2.5])), (3, 1)))
    law = played(problem, policy).law
    np.testing.assert_allclose(law.probabilities, [0.1, 0.15 + 0.3 / 1.6, 0.25 + 0.5 / 1.6], rtol=1e-12)
    found = gradient(problem, policy, Expectation()).table
    # half of the time each: d/dθ of (2 e^a + 3 e^b)/(e^a + e^b) and of (1 + 2 e^a + 3 e^b)/(1 + e^a + e^b)
    first, second = 0.3 / 0.8, 0.5 / 0.8
    np.testing.assert_allclose(found[0], 0.5 * first * second * np.array([-1, 1]), rtol=1e-10)
    np.testing.assert_allclose(found[1], 0.5 * np.array([0.3 * (2 - 2.3), 0.5 * (3 - 2.3)]), rtol=1e-10)
    assert not np.any(found[2])


def test_a_problem_of_one_decision():
    env = make("option", horizon=1, start=1.0, put_strike=1.0, call_strike=1.0, observe="index")
    policy = Tabular(jnp.zeros((1, 1)))
    law = played(env, policy).law
    np.testing.assert_allclose(law.values, [0, 1 - 8 / 9, 1 / 8], atol=1e-12)
    np.testing.assert_allclose(law.probabilities, [0.5, 0.275, 0.225], rtol=1e-12)
    found = gradient(env, policy, Expectation()).table
    np.testing.assert_allclose(found, -0.25 * (0.55 / 9 + 0.45 / 8), rtol=1e-10)


def test_policies_of_continuous_actions_are_refused():
    env = make("option", horizon=2)
    policy = LinearGaussian(jnp.zeros(1), jnp.zeros((1, 2)), Raw(2))
    with pytest.raises(InputError, match="softmax") as caught:
        played(env, policy)
    assert caught.value.field == "policy"
    assert caught.value.value == "LinearGaussian"
    with pytest.raises(InputError):
        gradient(env, policy, Expectation())
