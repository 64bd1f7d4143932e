"""The best schedules of selling a holding (Almgren & Chriss 2000)."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from fenchel.envs.execution import Execution
from fenchel.errors import require_nonnegative
from fenchel.exact.problem import Array


@dataclass(frozen=True)
class ExecutionOptimum:
    """The best schedule for a risk aversion; policies that adapt to the price may be better.

    Arguments:
        risk_aversion: λ.
        left: shares left after each trade.
        mean: of minus the cost.
        std: of the cost.
        value: J − λ Var, with J minus the expected cost.
    """

    risk_aversion: float
    left: Float[Array, " trades"]
    mean: float
    std: float
    value: float


def schedule_moments(env: Execution, left: Float[Array, " trades"]) -> tuple[float, float]:
    """Mean and variance of minus the cost, for shares left after each trade.

    E = −Σ n (ε + η n/τ) − γ Σ x n and V = σ² τ Σ x², with n the shares of a trade that leaves x.

    >>> from fenchel.envs import Execution
    >>> schedule_moments(Execution(horizon=1), np.zeros(1))
    (-2562500.0, 0.0)
    """
    left = np.asarray(left, np.float64)
    sold = -np.diff(left, prepend=env.shares)
    paid = np.sum(np.abs(sold) * env.half_spread + env.temporary / env.period * sold**2)
    lost = env.permanent * np.sum(left * sold)
    return -float(paid + lost), float(env.volatility**2 * env.period * np.sum(left**2))


def almgren_chriss(env: Execution, risk_aversion: float) -> ExecutionOptimum:
    """The schedule x_j = X sinh(κ(T − jτ))/sinh(κT) with 2 (cosh κτ − 1)/τ² = λσ²/(η − γτ/2).

    >>> from fenchel.envs import Execution
    >>> found = almgren_chriss(Execution(), 1e-6)
    >>> (found.left / 1e5).round(2).tolist()
    [5.48, 2.96, 1.53, 0.65, 0.0]
    """
    require_nonnegative("risk_aversion", risk_aversion)
    impact = env.temporary - env.permanent * env.period / 2
    pull = risk_aversion * env.volatility**2 * env.period**2 / impact
    rate = float(np.arccosh(1 + pull / 2))
    ahead = np.arange(env.horizon - 1, -1, -1.0)
    left = env.shares * (_sinh_ratio(rate, ahead, env.horizon) if rate > 0 else ahead / env.horizon)
    mean, variance = schedule_moments(env, left)
    return ExecutionOptimum(risk_aversion, left, mean, variance**0.5, mean - risk_aversion * variance)


def _sinh_ratio(rate: float, ahead: Float[Array, " n"], most: int) -> Float[Array, " n"]:
    """sinh(r a)/sinh(r m), with factors that cannot overflow."""
    ratio: Array = np.expm1(-2 * rate * ahead) / np.expm1(-2 * rate * most)
    return np.exp(rate * (ahead - most)) * ratio
