"""Environments as finite problems: laws and states against all trajectories of the plain-Python twins."""

from itertools import product

import gymnasium
import jax.numpy as jnp
import numpy as np
import pytest
from estimators.support import SETTINGS
from jax.flatten_util import ravel_pytree
from reference import enumeration, portfolio

from fenchel import AbstractEnvironment, make
from fenchel.envs import AmericanOption, Outcomes, Portfolio, TimeStep
from fenchel.envs.spaces import float_box
from fenchel.errors import InputError
from fenchel.exact import enumerate_environment, frontier, played
from fenchel.policies import LinearSoftmax, Raw

MARKETS = {
    "as it is": {},
    "two steps to maturity": {"maturity": 2, "invest_fraction": 0.6},
    "rate of maturity, in money": {"rate_fixed": "maturity", "reward": "money", "startup_cash": 100.0},
    "rate of maturity, two steps": {"rate_fixed": "maturity", "maturity": 2, "invest_fraction": 0.3},
    "share of the cash, logarithms": {"invest_base": "cash", "reward": "log", "maturity": 2},
    "share of the start, high": {"invest_base": "initial", "start_rate": "high", "maturity": 3},
    "nothing defaults": {"default_probability": 0.0},
    "rate never switches": {"switch_probability": 0.0},
}


@pytest.mark.parametrize("name", MARKETS)
def test_the_law_of_a_portfolio_is_that_of_all_trajectories(name):
    settings = {**SETTINGS["portfolio"], **MARKETS[name]}
    env = Portfolio(**settings)
    size = env.observation_space.shape[0]
    theta = np.random.default_rng(3).normal(0, 1, size)
    twin = enumeration.Linear(lambda seen: seen[:size])
    expected = {}
    for one in enumeration.market(settings):
        ret = round(float(one.ret), 9)
        expected[ret] = expected.get(ret, 0) + enumeration.likelihood(one, twin, theta)[0]
    values, chances = np.array(sorted(pair for pair in expected.items() if pair[1] > 0)).T
    law = played(env, LinearSoftmax(jnp.asarray(theta[None]), Raw(size))).law
    np.testing.assert_allclose(law.values, values, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(law.probabilities, chances, rtol=1e-9, atol=1e-13)


def twin_states(settings):
    """(step, observation, reward so far) of all decisions; with W = 1 nothing else is known when acting."""
    horizon, found, never = settings["horizon"], set(), 1 - 1e-9
    for noise in product((0.0, never), repeat=2 * horizon):
        pairs = np.reshape(noise, (horizon, 2))
        for actions in product((0, 1), repeat=horizon):
            rewards, seen, _ = portfolio.run(pairs[0], pairs[1:], actions, **settings)
            so_far = np.cumsum([0, *rewards])
            found |= {(k, *np.round(seen[k], 9), round(so_far[k], 9)) for k in range(horizon)}
    return found


def test_states_of_a_portfolio_are_the_pairs_that_can_be_reached():
    settings = SETTINGS["portfolio"]
    problem = enumerate_environment(Portfolio(**settings))
    expected = twin_states(settings)
    counts = [sum(state[0] == k for state in expected) for k in range(settings["horizon"])]
    assert [layer.size for layer in problem.layers] == counts
    assert problem.size == len(expected)
    for step, layer in enumerate(problem.layers):
        found = sorted(np.column_stack([layer.observations, layer.so_far]).round(7).tolist())
        np.testing.assert_allclose(
            found, sorted(np.round(s[1:], 7).tolist() for s in expected if s[0] == step)
        )
        assert set(layer.states) == ({2 * step, 2 * step + 1})
    assert len(problem.start) == counts[0] == 2
    np.testing.assert_allclose(sorted(problem.start), [0.4, 0.6], rtol=1e-12)


def test_a_portfolio_of_four_steps_to_maturity():
    """Purchases of the last W steps are never paid: in 4 steps no policy gains more than the liquid rate."""
    found = frontier(make("portfolio", horizon=4))
    assert found.best(1e-6).value == pytest.approx(1.001**4, rel=1e-9)
    assert found.best(1e3).std == pytest.approx(0, abs=1e-7)
    longer = frontier(make("portfolio", horizon=6))
    assert longer.mean[-1] > found.mean[-1]
    assert np.min(longer.std) == pytest.approx(0, abs=1e-7)
    assert longer.best(1e6).mean == pytest.approx(1.001**6, rel=1e-9)


def test_a_continuous_start_is_cut_into_slices():
    env = make("option", "tamar2014", horizon=3)
    problem = enumerate_environment(env, start_points=8)
    assert problem.start_points == 8
    assert [layer.size for layer in problem.layers] == [8, 16, 24]
    np.testing.assert_allclose(problem.start, 1 / 8, rtol=1e-12)
    prices = sorted(problem.layers[0].observations[:, 0])
    np.testing.assert_allclose(prices, 1.15 + 0.2 * (np.arange(8) + 0.5) / 8, rtol=1e-12)
    assert enumerate_environment(env).start_points == 32
    assert enumerate_environment(env, start_points=1).start_points in (None, 1)


def test_the_optimum_of_slices_is_the_mean_of_their_optima():
    """Of the expectation: each slice is a problem of its own."""
    fields = {"horizon": 3, "discount": 0.98, "put_strike": 1.3}
    whole = frontier(enumerate_environment(AmericanOption(**fields, start_spread=0.1), start_points=4))
    starts = 1.15 + 0.2 * (np.arange(4) + 0.5) / 4
    parts = [frontier(AmericanOption(**fields, start=float(start))).mean[-1] for start in starts]
    assert whole.mean[-1] == pytest.approx(np.mean(parts), rel=1e-10)


def test_what_cannot_happen_is_left_out():
    """A price that always rises is a path: no tree, and no risk."""
    problem = enumerate_environment(make("option", horizon=5, up_probability=1.0))
    assert [layer.size for layer in problem.layers] == [1] * 5
    np.testing.assert_allclose(frontier(problem).std, 0, atol=1e-7)
    assert frontier(problem).best(1.0).value == pytest.approx(1.25 * 1.125**5 - 1.5, rel=1e-12)


class Coin(AbstractEnvironment):
    """Guess a coin a few times; the reward so far is all that tells states of a step apart."""

    horizon: int = 3
    discount: float = 1.0
    listed: bool = True
    actions: int | None = 2

    @property
    def observation_space(self):
        return float_box([0.0], [float(self.horizon)])

    @property
    def action_space(self):
        return float_box([0.0], [1.0]) if self.actions is None else gymnasium.spaces.Discrete(self.actions)

    def reset(self, noise):
        return jnp.zeros(()), jnp.zeros(1)

    def step(self, noise, state, action):
        hit = jnp.asarray(noise) == (jnp.asarray(action) == 1)
        after = state + 1
        reward = jnp.where(hit, 1.0, 0.0)
        return after, TimeStep(after[None], reward, jnp.zeros((), bool), after >= self.horizon)

    def outcomes(self):
        return Outcomes(np.array([False, True]), np.array([0.25, 0.75])) if self.listed else None

    def first_outcomes(self, points=1):
        return Outcomes(np.zeros(1), np.ones(1)) if self.listed else None


def test_an_environment_of_ones_own():
    problem = enumerate_environment(Coin())
    assert [layer.size for layer in problem.layers] == [1, 2, 3]
    assert problem.returns.tolist() == [0, 1, 2, 3]
    assert [sorted(layer.so_far) for layer in problem.layers] == [[0], [0, 1], [0, 1, 2]]
    found = frontier(problem)
    assert found.mean[-1] == pytest.approx(2.25, rel=1e-12)
    assert found.variance[-1] == pytest.approx(3 * 0.75 * 0.25, rel=1e-12)
    assert enumerate_environment(Coin(discount=0.5)).layers[2].size == 4


@pytest.mark.parametrize(
    ("env", "field"),
    [
        (Coin(listed=False), "env"),
        (Coin(actions=None), "action_space"),
    ],
)
def test_what_is_not_finite_is_refused(env, field):
    with pytest.raises(InputError) as caught:
        enumerate_environment(env)
    assert caught.value.field == field
    assert "finite" in caught.value.remedy
    with pytest.raises(InputError):
        frontier(env)


def test_too_many_states_are_refused_before_they_fill_the_memory():
    with pytest.raises(InputError) as caught:
        enumerate_environment(make("portfolio"), most_states=500)
    assert caught.value.field == "most_states"
    assert "Portfolio reaches" in caught.value.remedy
    assert "horizon" in caught.value.remedy
    with pytest.raises(InputError) as caught:
        enumerate_environment(make("option"), most_states=209)
    assert "210" in caught.value.remedy
    assert enumerate_environment(make("option"), most_states=210).size == 210


@pytest.mark.parametrize("field", ["most_states", "start_points"])
def test_counts_must_be_counts(field):
    with pytest.raises(InputError) as caught:
        enumerate_environment(make("option"), **{field: 0})
    assert caught.value.field == field


def test_an_unknown_name_is_refused():
    with pytest.raises(InputError, match="option"):
        frontier("options")


def test_policies_as_tables_act_as_they_did():
    """A policy of the tree is one of its numbered nodes; one of the reward so far is not."""
    env = make("option", observe="index")
    optimum = frontier(env).best(1.0)
    table = optimum.policy.tabular()
    assert played(env, table).law.mean_variance(1.0) == pytest.approx(optimum.value, rel=1e-12)
    assert ravel_pytree(table)[0].size == 420
    with pytest.raises(InputError, match="reward so far"):
        frontier(make("portfolio", horizon=8, maturity=2)).best(1.0).policy.tabular()
