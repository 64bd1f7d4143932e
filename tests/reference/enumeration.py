"""Small problems with all their trajectories, on the plain-Python twins: exact moments and exact gradients.

A policy over two actions has `probability(theta, seen)`, π(1|s), and `slope(theta, seen)`, its derivative.
"""

from itertools import product
from typing import NamedTuple

import numpy as np
from reference import option, portfolio, stopping


class Trajectory(NamedTuple):
    """What happened, and how likely the world was to let it happen."""

    chance: float
    ret: float
    observations: np.ndarray
    actions: tuple


def tree(name, settings):
    """Every path of a price tree: 2^T worlds, and in each an execution at t = 0, …, T − 1 or never."""
    twin = {"option": option, "stopping": stopping}[name]
    horizon, rise = settings["horizon"], settings["up_probability"]
    found = []
    for ups in product((True, False), repeat=horizon):
        noise = [[0.0 if up else 1 - 1e-9] for up in ups]
        chance = np.prod([rise if up else 1 - rise for up in ups])
        for executed in range(horizon + 1):
            actions = [int(t == executed) for t in range(horizon)]
            rewards, seen, _ = twin.run([0.5], noise, actions, **settings)
            count = len(rewards)
            ret = sum(settings["discount"] ** k * rewards[k] for k in range(count))
            found.append(Trajectory(chance, ret, seen[:count], tuple(actions[:count])))
    return found


def market(settings):
    """Every path of the portfolio: a switch in every step, a default in every step but the first.

    The number of the step is appended to what is observed.
    """
    horizon = settings["horizon"]
    switch, default = settings["switch_probability"], settings["default_probability"]
    never = 1 - 1e-9
    found = []
    for switches in product((True, False), repeat=horizon):
        for defaults in product((True, False), repeat=horizon - 1):
            chance = np.prod([switch if s else 1 - switch for s in switches])
            chance *= np.prod([default if d else 1 - default for d in defaults])
            noise = [
                [0.0 if s else never, 0.0 if d else never]
                for s, d in zip(switches[1:], defaults, strict=True)
            ]
            for actions in product((0, 1), repeat=horizon):
                first = [0.0 if switches[0] else never, never]
                rewards, seen, _ = portfolio.run(first, noise, actions, **settings)
                seen = np.column_stack([seen, np.arange(horizon)])
                found.append(Trajectory(chance, rewards.sum(), seen, actions))
    return found


def likelihood(trajectory, policy, theta):
    """Probability of a trajectory, and ω = Σ_k ∇ log π(a_k|s_k)."""
    chance, omega = trajectory.chance, np.zeros_like(theta)
    for seen, action in zip(trajectory.observations, trajectory.actions, strict=True):
        one = policy.probability(theta, seen)
        taken, slope = (one, 1.0) if action == 1 else (1 - one, -1.0)
        chance *= taken
        omega += slope * policy.slope(theta, seen) / taken
    return chance, omega


def expect(trajectories, policy, theta, function):
    """E[f(R)] and its gradient Σ p f(R) ω."""
    value, gradient = 0.0, np.zeros_like(theta)
    for trajectory in trajectories:
        chance, omega = likelihood(trajectory, policy, theta)
        value += chance * function(trajectory.ret)
        gradient += chance * function(trajectory.ret) * omega
    return value, gradient


def moments(trajectories, policy, theta):
    """J, Var and their gradients."""
    mean, slope = expect(trajectories, policy, theta, lambda r: r)
    square, square_slope = expect(trajectories, policy, theta, lambda r: r**2)
    return mean, square - mean**2, slope, square_slope - 2 * mean * slope


def finite_differences(function, theta, step=1e-5):
    """Central differences of a function of θ."""
    gradient = np.zeros_like(theta)
    for i in range(len(theta)):
        shift = np.zeros_like(theta)
        shift[i] = step
        gradient[i] = (function(theta + shift) - function(theta - shift)) / (2 * step)
    return gradient


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


class Linear:
    """π(1|s) = ε + (1 − 2ε) σ(θ·φ(s)); tabular where φ is an indicator."""

    def __init__(self, features, epsilon=0.0):
        self.features, self.epsilon = features, epsilon

    def probability(self, theta, seen):
        return self.epsilon + (1 - 2 * self.epsilon) * sigmoid(theta @ self.features(seen))

    def slope(self, theta, seen):
        soft = sigmoid(theta @ self.features(seen))
        return (1 - 2 * self.epsilon) * soft * (1 - soft) * self.features(seen)


class TwoLayers:
    """π(1|s) = σ(v·tanh(Aφ(s) + b) + c), with θ = (A, b, v, c)."""

    def __init__(self, features, inputs, hidden):
        self.features, self.inputs, self.hidden = features, inputs, hidden

    def split(self, theta):
        size = self.inputs * self.hidden
        inner, bias = theta[:size].reshape(self.hidden, self.inputs), theta[size : size + self.hidden]
        return inner, bias, theta[size + self.hidden : -1], theta[-1]

    def probability(self, theta, seen):
        inner, bias, outer, last = self.split(theta)
        return sigmoid(outer @ np.tanh(inner @ self.features(seen) + bias) + last)

    def slope(self, theta, seen):
        inner, bias, outer, _ = self.split(theta)
        units = np.tanh(inner @ self.features(seen) + bias)
        back = outer * (1 - units**2)
        one = self.probability(theta, seen)
        parts = np.outer(back, self.features(seen)).ravel(), back, units, [1.0]
        return one * (1 - one) * np.concatenate(parts)
