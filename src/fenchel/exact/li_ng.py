"""The best policies of allocation without limits and costs (Li & Ng 2000), and moments of affine policies."""

from dataclasses import dataclass
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from fenchel.envs.allocation import Allocation
from fenchel.errors import require, require_positive
from fenchel.exact.problem import Array
from fenchel.policies.dated import DatedGaussian


class Excess(NamedTuple):
    """Moments of the excess returns P = e − f of a period."""

    mean: Float[Array, " n"]
    second: Float[Array, "n n"]

    @property
    def direction(self) -> Float[Array, " n"]:
        """E[P Pᵀ]⁻¹ E[P]."""
        return np.linalg.solve(self.second, self.mean)


@dataclass(frozen=True)
class AllocationOptimum:
    """The best policy for a risk aversion.

    Arguments:
        risk_aversion: λ.
        policy: the policy, for the environment's own observation; it has no chance in it.
        mean: of final wealth.
        std: of final wealth.
        value: J − λ Var = x₀ f^T + (1 − ρ^T)/(4 λ ρ^T), which no policy exceeds.
        riskless: x₀ f^T, what cash alone comes to.
        ratio: ρ = 1 − E[P]ᵀ E[P Pᵀ]⁻¹ E[P].
    """

    risk_aversion: float
    policy: DatedGaussian
    mean: float
    std: float
    value: float
    riskless: float
    ratio: float


def excess(env: Allocation) -> Excess:
    """Moments of P, exact for the normal law, and for a table drawn row by row."""
    mean, second = env.market.moments
    rate = env.riskless
    cross = np.add.outer(mean, mean) * rate
    return Excess(mean - rate, second - cross + rate**2)


def require_unlimited(env: Allocation) -> None:
    """Raise unless the formulas hold: no costs, no limits, returns independent over time."""
    require(env.cost == 0, "cost", env.cost, "has no known optimum; without costs there is one")
    for name in ("leverage", "short"):
        value = getattr(env, name)
        require(value is None, name, value, "has no known optimum; without limits there is one")
    require(env.block == 1, "block", env.block, "makes returns depend on the past; there is an optimum for 1")


def li_ng(env: Allocation, risk_aversion: float) -> AllocationOptimum:
    """The best of all policies for J − λ Var of final wealth.

    With K = E[P Pᵀ]⁻¹ E[P] the amounts are u_t = K (γ f^{−(T−1−t)} − f x_t), affine in wealth: what is
    missing to the target γ = x₀ f^T + 1/(2 λ ρ^T).

    >>> from fenchel.envs import Allocation
    >>> found = li_ng(Allocation(horizon=1, riskless=1.0, mean=(1.1,), covariance=(0.04,)), 1.0)
    >>> round(found.value, 9)  # 1 + (E P)²/(4 λ Var P)
    1.0625
    """
    require_positive("risk_aversion", risk_aversion)
    require_unlimited(env)
    moments, rate, count = excess(env), env.riskless, env.horizon
    ratio = 1 - float(moments.mean @ moments.direction)
    kept, base = ratio**count, env.start_wealth * rate**count
    target = base + 1 / (2 * risk_aversion * kept)
    dates = np.arange(count)
    missing = target * rate ** -(count - 1.0 - dates) - rate * env.start_wealth * rate**dates
    policy = DatedGaussian(
        jnp.zeros(env.assets),
        jnp.asarray(np.outer(missing, moments.direction)),
        jnp.broadcast_to(jnp.asarray(-rate * moments.direction)[:, None], (count, env.assets, 1)),
    )
    gain = (1 - kept) / (2 * risk_aversion * kept)
    std = float(np.sqrt(kept / (1 - kept))) * gain if kept < 1 else 0.0
    return AllocationOptimum(risk_aversion, policy, base + gain, std, base + gain / 2, base, ratio)


def affine_moments(env: Allocation, policy: DatedGaussian) -> tuple[float, float]:
    """Mean and variance of final wealth when the policy always does what it is likeliest to do.

    With u = a + b g, where g = x − x₀ f^t is the gain, the gain a period later is f g + Pᵀ(a + b g).
    """
    require_unlimited(env)
    moments, rate = excess(env), env.riskless
    mean = second = 0.0
    constants, slopes = (np.asarray(x, np.float64) for x in (policy.constants, policy.slopes[..., 0]))
    for a, b in zip(constants, slopes, strict=True):
        grown = rate + moments.mean @ b
        square = rate**2 + 2 * rate * (moments.mean @ b) + b @ moments.second @ b
        cross = rate * (moments.mean @ a) + a @ moments.second @ b
        second = float(a @ moments.second @ a + 2 * cross * mean + square * second)
        mean = float(moments.mean @ a + grown * mean)
    return env.start_wealth * rate**env.horizon + mean, second - mean**2
