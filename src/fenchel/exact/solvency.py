"""When a portfolio policy of step and rate can be short of cash, which would break the linear dynamics."""

import numpy as np
from jaxtyping import Bool

from fenchel.envs.portfolio import Portfolio
from fenchel.errors import InputError
from fenchel.exact.linear import linear_model
from fenchel.exact.problem import Array

ROUNDING = 1e-12
"""Excess of a purchase over the cash that rounding explains; the environment grants 10⁷ times as much."""


def require_cash(env: Portfolio, chances: Array) -> None:
    """Raise unless a policy that invests with these probabilities can pay for every purchase."""
    allowed = np.any((chances > 0) & reachable(env), axis=1)
    short = np.flatnonzero(shortages(env, allowed))
    if len(short):
        where = f"can be short of cash in step {short[0]} (counted from 0), and a purchase is skipped then"
        remedy = f"{where}; let it never invest there or in some step before, or allow debts by exact=False"
        raise InputError("policy", f"invests in {int(np.sum(allowed))} of {env.horizon} steps", remedy)


def shortages(env: Portfolio, allowed: Bool[Array, "... horizon"]) -> Bool[Array, "... horizon"]:
    """In which steps a policy that may invest in the `allowed` ones can lack the cash for it.

    Of a share of the wealth: let f be the fractions of wealth by time to maturity, the new purchase included,
    and let what is due pay ρ times its cost. A step later the others are f over the growth of wealth,

        r − (r − ρ) f₁ − (r − 1) Σ_{i>1} f_i.

    For r ≥ 1 and ρ ≤ r that falls in f and rises in ρ. So, by induction, no path has larger fractions, and so
    less cash per wealth, than the one that invests whenever it may and is always paid the least ρ. Where
    r < 1 the last term is dropped, and where nothing can default ρ is the lower of r and the low rate: that
    path need not exist then, and some policies that are never short are refused.
    Of a share of the initial cash: a purchase takes 1 and W steps later gives back no less than the lower of
    ρ and r^W, so that a path that buys less never has less cash. Of a share of the cash: never.
    """
    least = env.rate_low if env.default_probability == 0 else 0.0
    if env.invest_base == "cash":
        return np.zeros(allowed.shape, bool)
    if env.invest_base == "initial":
        return _short_of_initial(env, allowed, min(least, env.liquid_rate**env.maturity))
    return _short_of_wealth(env, allowed, min(least, env.liquid_rate))


def reachable(env: Portfolio) -> Bool[Array, "horizon 2"]:
    """Which rates each step can have."""
    model = linear_model(env)
    moves, rates = np.sum(np.asarray(model.arrive), axis=1), [np.asarray(model.start[:, -1])]
    for _ in range(env.horizon - 1):
        rates.append(rates[-1] @ moves)
    return np.asarray(np.stack(rates) > 0)


def _short_of_wealth(env: Portfolio, allowed: Array, least: float) -> Array:
    liquid, short = env.liquid_rate, np.zeros(allowed.shape, bool)
    pending = np.zeros((*allowed.shape[:-1], env.maturity - 1))
    for step in range(env.horizon):
        wish = env.invest_fraction * allowed[..., step]
        short[..., step] = wish > 1 - pending.sum(axis=-1) + ROUNDING
        held = np.concatenate([pending, wish[..., None]], axis=-1)
        due, later = held[..., :1], held[..., 1:]
        growth = liquid - (liquid - least) * due - max(liquid - 1, 0) * later.sum(axis=-1, keepdims=True)
        pending = np.where(
            growth > 0, later / np.where(growth > 0, growth, 1), later > 0
        )  # 0 only if all is due
    return short


def _short_of_initial(env: Portfolio, allowed: Array, least: float) -> Array:
    short = np.zeros(allowed.shape, bool)
    costs = env.invest_fraction * allowed
    cash = np.full(allowed.shape[:-1], env.liquid_rate)
    for step in range(env.horizon):
        short[..., step] = costs[..., step] > cash + ROUNDING
        due = costs[..., step + 1 - env.maturity] if step + 1 >= env.maturity else 0
        cash = (cash - costs[..., step]) * env.liquid_rate + least * due
    return short
