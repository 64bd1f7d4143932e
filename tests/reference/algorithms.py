"""The algorithms of the paper in loops, for a policy of two actions and flat parameters θ.

An episode is (return, features per step, actions). `play(t, batch, theta)` gives the recorded episodes of a
batch, `coins(t)` the numbers that decide an order, `sizes(t)` the step sizes (policy, dual). Every function
yields (θ, y) after each update, for ever; Tamar's yields (θ, J, V).
"""

from dataclasses import dataclass, field

import numpy as np


def identity(x, *_):
    return x


def soft_score(theta, episode):
    """ω = Σ_k ∇ log π(a_k|s_k) for π(1|s) = 1/(1 + exp(−θ·φ(s)))."""
    _, features, actions = episode
    omega = np.zeros_like(theta)
    for phi, action in zip(features, actions, strict=True):
        omega += (action - 1 / (1 + np.exp(-theta @ phi))) * phi
    return omega


def table_score(table, episode):
    """The same for π(a|s) = θ[s, a]; the features of a step are the number of the state."""
    _, states, actions = episode
    omega = np.zeros_like(table)
    for state, action in zip(states, actions, strict=True):
        omega[state, action] += 1 / table[state, action]
    return omega


class Adam:
    """Kingma and Ba (2015), for ascent, with the step size left out."""

    def __init__(self):
        self.first = self.second = 0.0
        self.count = 0

    def __call__(self, gradient):
        self.count += 1
        self.first = 0.9 * self.first + 0.1 * gradient
        self.second = 0.999 * self.second + 0.001 * gradient**2
        first = self.first / (1 - 0.9**self.count)
        second = self.second / (1 - 0.999**self.count)
        return first / (np.sqrt(second) + 1e-8)


@dataclass
class Rules:
    """λ, and what happens to a gradient before a step and to a block after it. `prox` takes the step size."""

    risk_aversion: float
    transform: object = identity
    prox: object = identity
    project: object = identity
    transforms: list = field(default_factory=list)


def dual_gradient(y, episodes, rules):
    return np.mean([2 * ret + 1 / rules.risk_aversion - 2 * y for ret, *_ in episodes])


def policy_gradient(theta, y, episodes, score=soft_score):
    return np.mean([(2 * y * e[0] - e[0] ** 2) * score(theta, e) for e in episodes], axis=0)


def mvp(theta, y, play, coins, sizes, rules, fresh=False):
    t = 0
    while True:
        step, dual_step = sizes(t)
        episodes = play(t, 0, theta)
        y = rules.project(y + dual_step * dual_gradient(y, episodes, rules))
        if fresh:
            episodes = play(t, 1, theta)
        theta = rules.prox(theta + step * rules.transform(policy_gradient(theta, y, episodes)), step)
        yield theta, y
        t += 1


def fresh_mvp(*args):
    return mvp(*args, fresh=True)


def sga(theta, y, play, coins, sizes, rules):
    t = 0
    while True:
        step, dual_step = sizes(t)
        episodes = play(t, 0, theta)
        slope, gradient = dual_gradient(y, episodes, rules), policy_gradient(theta, y, episodes)
        y = rules.project(y + dual_step * slope)
        theta = rules.prox(theta + step * rules.transform(gradient), step)
        yield theta, y
        t += 1


def rcpg(theta, y, play, coins, sizes, rules):
    t = 0
    while True:
        step, dual_step = sizes(t)
        episodes = play(t, 0, theta)
        if coins(t)[0] < 0.5:
            y = rules.project(y + dual_step * dual_gradient(y, episodes, rules))
        else:
            theta = rules.prox(theta + step * rules.transform(policy_gradient(theta, y, episodes)), step)
        yield theta, y
        t += 1


def pg(theta, y, play, coins, sizes, rules):
    t = 0
    while True:
        step, _ = sizes(t)
        gradient = np.mean([e[0] * soft_score(theta, e) for e in play(t, 0, theta)], axis=0)
        theta = rules.prox(theta + step * rules.transform(gradient), step)
        yield theta, y
        t += 1


def bsg(theta, y, play, coins, sizes, rules, parts, shuffle=False):
    """The dual is block 0, and block i > 0 the slice `parts[i − 1]` of θ, with a transform of its own."""
    t = 0
    while True:
        step, dual_step = sizes(t)
        episodes = play(t, 0, theta)
        order = np.argsort(coins(t)) if shuffle else range(1 + len(parts))
        for block in order:
            if block == 0:
                y = rules.project(y + dual_step * dual_gradient(y, episodes, rules))
            else:
                part = parts[block - 1]
                gradient = policy_gradient(theta, y, episodes)[part]
                theta = theta.copy()
                theta[part] = rules.prox(theta[part] + step * rules.transforms[block - 1](gradient), step)
        yield theta, y
        t += 1


def sbmd(table, y, play, coins, sizes, rules):
    """RCPG with multiplicative weights on the rows of a table of probabilities."""
    t = 0
    while True:
        step, dual_step = sizes(t)
        episodes = play(t, 0, table)
        if coins(t)[0] < 0.5:
            y = rules.project(y + dual_step * dual_gradient(y, episodes, rules))
        else:
            gradient = policy_gradient(table, y, episodes, table_score)
            table = table * np.exp(step * rules.transform(gradient))
            table = table / np.sum(table, axis=1, keepdims=True)
        yield table, y
        t += 1


def tamar(theta, mean, play, coins, sizes, rules, bound=None):
    """Penalty λ (V − bound)₊², or λ V without a bound."""
    t, variance = 0, 0.0
    while True:
        step, fast = sizes(t)
        episodes = play(t, 0, theta)
        slope = 1.0 if bound is None else 2 * max(variance - bound, 0.0)
        gradient, first, second = np.zeros_like(theta), 0.0, 0.0
        for episode in episodes:
            ret = episode[0]
            weight = ret - rules.risk_aversion * slope * (ret**2 - 2 * mean * ret)
            gradient += weight * soft_score(theta, episode) / len(episodes)
            first += (ret - mean) / len(episodes)
            second += (ret**2 - mean**2 - variance) / len(episodes)
        theta = theta + step * gradient
        mean, variance = mean + fast * first, variance + fast * second
        yield theta, mean, variance
        t += 1
