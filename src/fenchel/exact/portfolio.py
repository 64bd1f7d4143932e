"""The portfolio: exact moments of policies of step and rate, the best of those, and a bound on all."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PyTree

from fenchel.envs.observe import AbstractObserver, ObserveIndex
from fenchel.envs.portfolio import Portfolio
from fenchel.errors import InputError, require, require_choice, require_count, require_positive
from fenchel.exact.linear import Moments, linear_model, moments, moments_of, rounding
from fenchel.exact.problem import Array
from fenchel.exact.relaxation import ITERATIONS, portfolio_upper
from fenchel.exact.schedule import best_schedule
from fenchel.exact.solvency import require_cash
from fenchel.exact.surrogates import in_double
from fenchel.objectives.mean_variance import MeanVariance
from fenchel.policies.base import AbstractPolicy
from fenchel.policies.categorical import AbstractDiscrete
from fenchel.policies.checks import check_policy
from fenchel.policies.tabular import DirectTabular

LINEAR_REWARDS = ("growth", "money")
"""Rewards that add up to something linear in the final holdings."""

RESTARTS = 64
"""Schedules that the search starts from; each of its rounds tries as many."""


@dataclass(frozen=True)
class PortfolioOptimum:
    """The best policy found among those of step and rate that are never short of cash.

    Arguments:
        objective: what is maximised, J − λ Var.
        policy: the policy, for `make("portfolio", observe="index")`. It is deterministic.
        dual: y of the objective, its mean.
        value: J − λ Var of it, exact but for rounding.
        mean: J of it.
        std: its standard deviation.
        lower: the value, less what rounding could have added.
        upper: what no policy exceeds, those that see their wealth included.
        restarts: how many schedules the search started from.
    """

    objective: MeanVariance
    policy: DirectTabular
    dual: float
    value: float
    mean: float
    std: float
    lower: float
    upper: float
    restarts: int

    @property
    def gap(self) -> float:
        """How far from the best of all policies this one can be at most."""
        return self.upper - self.lower


def portfolio_optimum(
    env: Any, risk_aversion: float, *, restarts: int = RESTARTS, iterations: int = ITERATIONS, seed: int = 0
) -> PortfolioOptimum:
    """The best policy of step and rate that is never short of cash, and a bound on every policy.

    The policy is the outcome of a search and not proved best in its class; the bound is proved.

    Arguments:
        env: a `Portfolio`, or one behind an observer.
        risk_aversion: λ.
        restarts: schedules that the search starts from.
        iterations: rounds that lower the bound.
        seed: of the search and of the bound.

    >>> from fenchel.envs import make
    >>> found = portfolio_optimum(make("portfolio", horizon=8), 0.1, restarts=4, iterations=10)
    >>> found.lower <= found.value <= found.upper
    True
    """
    env = inner_portfolio(env)
    require_positive("risk_aversion", risk_aversion)
    require_count("restarts", restarts)
    require_count("iterations", iterations)
    chances = best_schedule(env, float(risk_aversion), restarts, seed)
    with jax.enable_x64(True):
        model = linear_model(env)
        found = moments_of(model, jnp.asarray(chances))
        wrong = rounding(model, jnp.asarray(chances))
        mean, variance = float(found.mean), float(found.variance)
    value = mean - risk_aversion * variance
    margin = float(wrong.mean) + risk_aversion * (float(wrong.second) + 2 * mean * float(wrong.mean))
    upper = portfolio_upper(env, float(risk_aversion), iterations=iterations, seed=seed)
    return PortfolioOptimum(
        objective=MeanVariance(float(risk_aversion)),
        policy=_tabular(chances),
        dual=mean,
        value=value,
        mean=mean,
        std=float(np.sqrt(variance)),
        lower=value - margin,
        upper=max(value, upper),
        restarts=restarts,
    )


def portfolio_moments(env: Any, policy: AbstractPolicy, *, exact: bool = True) -> Moments:
    """E[R] and E[R²] of a policy that sees step and rate, differentiable in its parameters.

    Arguments:
        env: a `Portfolio`, or one behind an observer.
        policy: any policy over finitely many actions that takes the observations of `ObserveIndex(env)`.
        exact: refuse a policy that can be short of cash. If False, what it lacks is borrowed at the liquid
            rate, which makes the moments approximate. Under `jax.grad` its numbers are not known yet, so
            nothing is refused: check once outside. `jax.grad` needs 64-bit mode; `portfolio_gradient` turns
            it on.

    >>> from fenchel import make, make_policy
    >>> env = make("portfolio", observe="index", invest_base="cash")
    >>> round(float(portfolio_moments(env, make_policy("tabular", env)).mean), 3)
    4.487
    """
    env = inner_portfolio(env)
    with jax.enable_x64(True):
        chances = chances_of(env, policy)
        if exact and not isinstance(chances, jax.core.Tracer):
            require_cash(env, np.asarray(chances))
        return moments(env, chances)


def portfolio_gradient(
    env: Any, policy: AbstractPolicy, worth: Callable[[Moments], jax.Array], *, exact: bool = True
) -> PyTree:
    """The exact gradient, shaped like the policy, of any function of the two moments, such as J − λ Var.

    Arguments:
        env: a `Portfolio`, or one behind an observer.
        policy: as for `portfolio_moments`.
        worth: what to differentiate.
        exact: as for `portfolio_moments`.

    >>> from fenchel import make, make_policy
    >>> env = make("portfolio", observe="index", invest_base="cash", horizon=6)
    >>> slopes = portfolio_gradient(env, make_policy("tabular", env), lambda m: m.mean - 0.1 * m.variance)
    >>> slopes.table.shape
    (12, 1)
    """
    env = inner_portfolio(env)
    with jax.enable_x64(True):
        if exact:
            require_cash(env, np.asarray(chances_of(env, policy)))
        parameters, rest = eqx.partition(in_double(policy), eqx.is_inexact_array)
        return jax.grad(lambda p: worth(moments(env, chances_of(env, eqx.combine(p, rest)))))(parameters)


def chances_of(env: Portfolio, policy: AbstractPolicy) -> Float[jax.Array, "horizon 2"]:
    """The probability of investing in every step, at the low and at the high rate."""
    if not isinstance(policy, AbstractDiscrete):
        kind = type(policy).__name__
        raise InputError("policy", kind, "must choose among finitely many actions; use make_policy")
    check_policy(policy, ObserveIndex(env))
    found = jax.vmap(in_double(policy).probabilities)(jnp.arange(2 * env.horizon))
    return jnp.reshape(found[:, 1], (env.horizon, 2))


def inner_portfolio(env: Any) -> Portfolio:
    """The portfolio behind any observers, if its return is linear in the final wealth."""
    while isinstance(env, AbstractObserver):
        env = env.env
    remedy = "must be a Portfolio; for finite problems there is frontier"
    require(isinstance(env, Portfolio), "env", type(env).__name__, remedy)
    require_choice("reward", env.reward, LINEAR_REWARDS)
    require(env.discount == 1, "discount", env.discount, "must be 1, so that rewards add up to final wealth")
    assert isinstance(env, Portfolio)
    return env


def _tabular(chances: Array) -> DirectTabular:
    invest = chances.reshape(-1)
    return DirectTabular(jnp.asarray(np.stack([1 - invest, invest], axis=1)))
