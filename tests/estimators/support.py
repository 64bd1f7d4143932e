"""Small problems that are fenchel's on one side and enumerated on the other."""

from functools import cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from reference import enumeration

from fenchel.envs import AmericanOption, ObserveIndex, OptimalStopping, Portfolio
from fenchel.policies import LinearSoftmax, MLPSoftmax, Network, Raw, Tabular

SETTINGS = {
    "option": {
        "start": 1.25,
        "up": 1.125,
        "down": 8 / 9,
        "up_probability": 0.45,
        "horizon": 4,
        "put_strike": 1.8,
        "call_strike": 1.9,
        "forced": True,
        "discount": 0.95,
        "start_spread": 0.0,
    },
    "stopping": {
        "start": 1.25,
        "up": 1.5,
        "down": 0.7,
        "up_probability": 0.5,
        "horizon": 3,
        "waiting_cost": 0.1,
        "cost_cap": None,
        "discount": 1.0,
        "start_spread": 0.0,
    },
    "portfolio": {
        "liquid_rate": 1.01,
        "rate_low": 1.1,
        "rate_high": 2.0,
        "switch_probability": 0.4,
        "start_rate": "low",
        "default_probability": 0.2,
        "maturity": 1,
        "invest_fraction": 0.4,
        "invest_base": "wealth",
        "rate_fixed": "purchase",
        "reward": "growth",
        "startup_cash": 1.0,
        "horizon": 3,
        "discount": 1.0,
    },
}
SETTINGS["portfolio, W = 2"] = {**SETTINGS["portfolio"], "maturity": 2, "invest_fraction": 0.6}
CLASSES = {"option": AmericanOption, "stopping": OptimalStopping, "portfolio": Portfolio}
POLICIES = ("tabular", "linear", "soft", "mlp")
HIDDEN = 3


class Case(NamedTuple):
    """The environment and policy of fenchel, and all trajectories, the twin policy and θ beside them."""

    env: object
    policy: object
    trajectories: list
    twin: object
    theta: np.ndarray

    def expect(self, function):
        """E[f(R)] and its gradient."""
        return enumeration.expect(self.trajectories, self.twin, self.theta, function)

    def moments(self):
        """J, Var and their gradients."""
        return enumeration.moments(self.trajectories, self.twin, self.theta)


@cache
def case(name, kind):
    settings, domain = SETTINGS[name], name.split(",")[0]
    env = CLASSES[domain](**settings)
    trajectories = (
        enumeration.market(settings) if domain == "portfolio" else enumeration.tree(domain, settings)
    )
    size = env.observation_space.shape[0]
    policy, twin = _policies(env, kind, size, settings)
    flat, restore = ravel_pytree(policy)
    theta = np.random.default_rng(len(name)).normal(0, 0.5, flat.size)
    env = ObserveIndex(env) if kind == "tabular" else env
    return Case(env, restore(jnp.asarray(theta)), trajectories, twin, theta)


def _policies(env, kind, size, settings):
    if kind == "tabular":
        number = _tree_index(settings) if isinstance(env, AmericanOption | OptimalStopping) else _market_index
        count = env.state_count
        return Tabular(jnp.zeros((count, 1))), enumeration.Linear(lambda seen: np.eye(count)[number(seen)])
    if kind == "mlp":
        network = Network.initial(size, (HIDDEN,), 1, jax.random.key(0))
        twin = enumeration.TwoLayers(lambda seen: seen[:size], size, HIDDEN)
        return MLPSoftmax(network, Raw(size)), twin
    epsilon = 0.15 if kind == "soft" else 0.0
    policy = LinearSoftmax(jnp.zeros((1, size)), Raw(size), epsilon=epsilon)
    return policy, enumeration.Linear(lambda seen: seen[:size], epsilon)


def _tree_index(settings):
    def number(seen):
        price, step = seen[0], int(seen[1])
        lowest = settings["start"] * settings["down"] ** step
        ups = round(np.log(price / lowest) / np.log(settings["up"] / settings["down"]))
        return step * (step + 1) // 2 + ups

    return number


def _market_index(seen):
    """Two numbers a step, by the sign of the rate's deviation, which stands before the step."""
    return 2 * int(seen[-1]) + int(seen[-2] > 0)


def averages(draw, function, count, seed=0):
    """Mean and standard error of a function of noise, drawn with `count` independent keys.

    Drawing takes longest to compile, and as a program of its own it is the same in many tests.
    """
    noise = jax.jit(lambda keys: jax.lax.map(draw, keys))(jax.random.split(jax.random.key(seed), count))
    values = np.asarray(jax.jit(lambda noise: jax.lax.map(function, noise))(noise))
    return values.mean(axis=0), values.std(axis=0, ddof=1) / count**0.5


def errors(estimate, exact):
    """Distance from the exact value in standard errors; what never varies has to be exact."""
    mean, error = estimate
    gap = np.abs(mean - exact)
    return np.where(error > 1e-12, gap / np.maximum(error, 1e-12), np.where(gap < 1e-9, 0, np.inf))
