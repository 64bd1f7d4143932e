"""Path by path, the compiled environments do what plain Python does with the same noise and actions."""

import hypothesis.strategies as st
import numpy as np
import pytest
from envs.support import play, recorded, settings
from hypothesis import given
from hypothesis import settings as effort
from reference import option, portfolio, stopping

from fenchel.envs import ENVIRONMENTS, AmericanOption, OptimalStopping, Portfolio, make

TWINS = {"option": option.run, "stopping": stopping.run, "portfolio": portfolio.run}
PRESETS = [(name, preset) for name in TWINS for preset in ENVIRONMENTS[name].PRESETS]

probabilities = st.floats(0, 1)
horizons = st.integers(1, 12)
trees = {
    "start": st.floats(0.2, 3),
    "up": st.floats(1.01, 2),
    "down": st.floats(0.3, 0.99),
    "up_probability": probabilities,
    "horizon": horizons,
    "discount": st.floats(0.5, 1),
    "start_spread": st.sampled_from([0.0, 0.1]),
}
options = st.fixed_dictionaries(
    {**trees, "put_strike": st.floats(0, 2), "call_strike": st.floats(0, 3), "forced": st.booleans()}
)
stoppings = st.fixed_dictionaries(
    {**trees, "waiting_cost": st.floats(0, 1), "cost_cap": st.none() | st.floats(0.1, 5)}
)
portfolios = st.fixed_dictionaries(
    {
        "liquid_rate": st.floats(0.9, 1.2),
        "rate_low": st.floats(0, 1.5),
        "rate_high": st.floats(1.5, 3),
        "switch_probability": probabilities,
        "start_rate": st.sampled_from(["low", "high"]),
        "default_probability": probabilities,
        "maturity": st.integers(1, 6),
        "invest_fraction": st.sampled_from([0.1, 0.2, 1 / 3, 0.5, 1.0]),
        "invest_base": st.sampled_from(["wealth", "cash", "initial"]),
        "rate_fixed": st.sampled_from(["purchase", "maturity"]),
        "reward": st.sampled_from(["growth", "money", "log"]),
        "startup_cash": st.sampled_from([1.0, 100_000.0]),
        "horizon": horizons,
    }
)


def assert_twins(name, env, seeds, invest=0.5):
    for seed in seeds:
        noise = recorded(env, seed, invest)
        rewards, observations, dones = play(env, *noise)
        wanted = TWINS[name](*noise, **settings(env))
        scale = getattr(env, "startup_cash", 1.0)
        np.testing.assert_allclose(rewards, wanted[0], rtol=1e-9, atol=1e-12 * scale)
        np.testing.assert_allclose(observations[: len(wanted[1])], wanted[1], rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(dones, wanted[2])


@pytest.mark.parametrize(("name", "preset"), PRESETS)
@pytest.mark.parametrize("invest", [0.0, 0.05, 0.5, 1.0])
def test_presets(name, preset, invest):
    assert_twins(name, make(name, preset), range(30), invest)


@pytest.mark.parametrize("reward", ["growth", "money", "log"])
@pytest.mark.parametrize("rate_fixed", ["purchase", "maturity"])
@pytest.mark.parametrize("invest_base", ["wealth", "cash", "initial"])
def test_portfolio_options(invest_base, rate_fixed, reward):
    env = Portfolio(invest_base=invest_base, rate_fixed=rate_fixed, reward=reward)
    assert_twins("portfolio", env, range(10), 0.8)


@effort(max_examples=12, deadline=None, derandomize=True)
@given(options)
def test_any_option(fields):
    assert_twins("option", AmericanOption(**fields), range(8), 0.1)


@effort(max_examples=12, deadline=None, derandomize=True)
@given(stoppings)
def test_any_stopping(fields):
    assert_twins("stopping", OptimalStopping(**fields), range(8), 0.1)


@effort(max_examples=20, deadline=None, derandomize=True)
@given(portfolios)
def test_any_portfolio(fields):
    assert_twins("portfolio", Portfolio(**fields), range(8), 0.7)
