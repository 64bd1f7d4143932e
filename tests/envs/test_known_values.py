"""Numbers that are known by other means than the environments themselves."""

from itertools import pairwise
from math import comb, log

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from envs.support import (
    Rule,
    always,
    assert_std_within,
    assert_within,
    never,
    play,
    recorded,
    sample_returns,
)

from fenchel.envs import AmericanOption, ObserveIndex, ObserveReturn, OptimalStopping, Portfolio, make


def held_option_law(up=9 / 8, down=8 / 9, p=0.45, steps=20):
    """Mean and standard deviation of the payoff at maturity, over the binomial law of the price."""
    prices = [1.25 * up**k * down ** (steps - k) for k in range(steps + 1)]
    chances = [comb(steps, k) * p**k * (1 - p) ** (steps - k) for k in range(steps + 1)]
    payoffs = np.array([max(1 - x, 0) + max(x - 1.5, 0) for x in prices])
    mean = chances @ payoffs
    return mean, np.sqrt(chances @ payoffs**2 - mean**2)


def test_option_held_until_maturity():
    mean, std = held_option_law()
    assert mean == pytest.approx(0.2871, abs=5e-5)
    assert std == pytest.approx(0.381, abs=5e-4)
    returns = sample_returns(AmericanOption(), never, 200_000)
    assert_within(returns, mean)
    assert_std_within(returns, std)


def test_option_that_lapses_is_worthless_if_held():
    assert np.all(sample_returns(AmericanOption(forced=False), never, 1000) == 0)


def test_maturity_is_discounted_by_all_transitions():
    held = sample_returns(AmericanOption(discount=0.9), never, 1000)
    np.testing.assert_allclose(held, 0.9**20 * sample_returns(AmericanOption(), never, 1000))


def test_spread_start_is_uniform():
    env = make("option", "tamar2014")
    starts = np.asarray(jax.vmap(lambda u: env.reset(u[None])[1][0])(jnp.linspace(0, 1, 5)))
    np.testing.assert_allclose(starts, [1.15, 1.2, 1.25, 1.3, 1.35])


@pytest.mark.parametrize(
    ("rule", "mean", "std"),
    [(always, 29.49, 36.15), (Rule(lambda seen: (seen[-1] > 0).astype(jnp.int32)), 26.61, 34.7)],
)
def test_portfolio_policies(rule, mean, std):
    """The known values are estimates too, with standard errors of 0.04 and 0.05."""
    returns = sample_returns(Portfolio(), rule, 300_000)
    assert_within(returns, mean, 0.04)
    assert_std_within(returns, std, 0.05)


def test_portfolio_never_invested():
    returns = sample_returns(Portfolio(), never, 1000)
    np.testing.assert_allclose(returns, 1.001**50, rtol=1e-12)
    assert np.std(returns) < 1e-12


def test_portfolio_moments_when_never_short_of_cash():
    """One purchase a maturity apart: cash and purchase are linear, so the mean is a product of chances.

    With W = 1 and η = ½ a purchase in step k pays in k + 1, hence wealth grows by r_l/2 + rate · (1 − d)/2,
    with rates whose expectation follows the two-state chain through a 2 × 2 matrix product.
    """
    env = Portfolio(maturity=1, invest_fraction=0.5, horizon=6, rate_low=1.1, rate_high=1.4)
    growth = (1.001 + 0.95 * np.array([1.1, 1.4])) / 2
    switch = np.array([[0.9, 0.1], [0.1, 0.9]])
    law = 1.001 * (np.array([1.0, 0.0]) @ switch)
    for _ in range(5):
        law = (law * growth) @ switch
    assert_within(sample_returns(env, always, 200_000), law.sum())


@pytest.mark.parametrize("invest_base", ["wealth", "cash", "initial"])
def test_rewards_telescope(invest_base):
    for seed in range(5):
        totals = {}
        for reward in ("growth", "money", "log"):
            env = Portfolio(reward=reward, invest_base=invest_base, startup_cash=500.0)
            totals[reward] = play(env, *recorded(env, seed, 0.9))[0].sum()
        assert totals["money"] == pytest.approx(500 * totals["growth"])
        assert totals["log"] == pytest.approx(log(totals["growth"]))


def test_nine_ninths_of_the_initial_cash_can_be_invested():
    """Eight subtractions leave less than a ninth by rounding, which must not make the last one too dear."""
    env = Portfolio(invest_fraction=1 / 9, liquid_rate=1.0, invest_base="initial", maturity=10, horizon=11)
    noise_steps = np.full((11, 2), 0.5)
    _, observations, _ = play(env, np.full(2, 0.5), noise_steps, np.ones(11, np.int32))
    np.testing.assert_allclose(observations[:10, 0], np.arange(9, -1, -1) / 9, atol=1e-12)
    assert np.all(observations >= env.observation_space.low)


def test_ruin_is_finite():
    env = Portfolio(invest_fraction=1.0, default_probability=1.0, reward="log", horizon=6)
    rewards, observations, _ = play(env, *recorded(env, 0, 1.0))
    assert np.all(np.isfinite(rewards))
    assert np.all(np.isfinite(observations))
    assert rewards.sum() == pytest.approx(log(1e-6))


def test_stopping_at_once():
    np.testing.assert_array_equal(sample_returns(OptimalStopping(), always, 1000), -1.25)


def test_cap_acts_on_what_is_paid():
    """Six rises and one fall lead from 1.25 to 40: the cap of 5 hides the path above it, and no more."""
    env = make("stopping", "tradeoff", horizon=7)
    noise = np.array([0.0] * 6 + [0.9])[:, None]
    rewards, observations, _ = play(env, np.zeros(1), noise, np.zeros(7, np.int32))
    np.testing.assert_allclose(observations[:, 0], [1.25, 2.5, 5, 10, 20, 40, 80, 40])
    np.testing.assert_allclose(rewards, [-0.1] * 6 + [-5.1])


def exact_tradeoff(risk_aversion):
    """max over η and policies of E[R − λ(R − η)²]; the reward so far is −0.1 t, so (t, ups) is the state."""

    def optimum(eta):
        def utility(ret):
            return ret - risk_aversion * (ret - eta) ** 2

        def accepted(t):
            costs = 1.25 * 2.0 ** (2 * np.arange(t + 1) - t)
            return utility(-0.1 * t - np.minimum(costs, 5))

        values = accepted(20)
        for t in reversed(range(20)):
            values = np.maximum(accepted(t), 0.35 * values[1:] + 0.65 * values[:-1])
        return values[0]

    grid = np.linspace(-3, 0, 3001)
    return max(map(optimum, grid))


@pytest.mark.parametrize(("risk_aversion", "value"), [(0.01, -1.008243), (0.3, -1.191795), (1.0, -1.25)])
def test_the_capped_tradeoff_has_the_known_optimum(risk_aversion, value):
    """This reading of the cap, and no other tried, gives the known optima."""
    assert exact_tradeoff(risk_aversion) == pytest.approx(value, abs=2e-6)


@pytest.mark.parametrize("name", ["option", "stopping"])
def test_index_numbers_the_recombining_tree(name):
    """Every number belongs to one pair (price, step), every pair to one number, and all are reached."""
    env = make(name, horizon=4)
    seen = {}
    for seed in range(200):
        noise_reset, noise_steps, actions = recorded(env, seed, 0.0)
        pairs = play(env, noise_reset, noise_steps, actions)[1][:-1]
        numbers = play(ObserveIndex(env), noise_reset, noise_steps, actions)[1][:-1]
        for number, pair in zip(numbers.tolist(), pairs, strict=True):
            np.testing.assert_allclose(seen.setdefault(number, pair), pair)
    assert sorted(seen) == list(range(env.state_count))
    assert len({tuple(np.round(pair, 9)) for pair in seen.values()}) == env.state_count


@pytest.mark.parametrize("uniform", [0.0, 0.99])
def test_the_edges_of_the_tree_lie_in_the_spaces(uniform):
    env = AmericanOption(start=1.1, up=1.1, down=0.7, horizon=40)
    for seen_as in (env, ObserveIndex(env)):
        noise_steps, held = np.full((40, 1), uniform), np.zeros(40, np.int32)
        observations = play(seen_as, np.zeros(1), noise_steps, held)[1]
        assert all(map(seen_as.observation_space.contains, observations))


def test_index_of_the_portfolio_is_step_and_rate():
    env = Portfolio(horizon=9)
    noise = recorded(env, 3)
    rates = play(env, *noise)[1][:-1, -1] > 0
    numbers = play(ObserveIndex(env), *noise)[1][:-1]
    np.testing.assert_array_equal(numbers, 2 * np.arange(9) + rates)


def test_return_so_far_is_what_was_earned():
    env = ObserveReturn(OptimalStopping(discount=0.9))
    rewards, observations, _ = play(env, *recorded(env.env, 1, 0.0))
    np.testing.assert_array_equal(observations[:, -1], range(21))
    earned = np.cumsum(rewards * 0.9 ** np.arange(20))
    np.testing.assert_allclose(observations[:, -2], [0, *earned], atol=1e-12)
    assert all(before > after for before, after in pairwise(observations[:, -2]))
