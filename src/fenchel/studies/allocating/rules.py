"""Simple rules beside learned policies, and what policies hold."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from fenchel.envs import Allocation
from fenchel.envs.allocation import AllocationState
from fenchel.policies import AbstractPolicy
from fenchel.studies.allocating.play import Paths, Rule, drawn, play

PATHS = 20_000
"""Paths on which rules are compared where returns are drawn."""


def rule_of(env: Allocation, policy: AbstractPolicy) -> Rule:
    """What a policy is likeliest to do."""
    return lambda state: policy.mode(env.observe(state))


def equal_weight(env: Allocation, risk_aversion: float) -> Rule:
    """Equal shares of wealth in the risky assets at every date, no cash."""
    return lambda state: jnp.full(env.assets, 1 / env.assets) * state.wealth


def markowitz(env: Allocation, risk_aversion: float) -> Rule:
    """What is best for a single period, u = Σ⁻¹ E[P]/(2λ), at every date."""
    mean, second = env.market.moments
    covariance = second - np.outer(mean, mean)
    amounts = np.linalg.solve(covariance, mean - env.riskless) / (2 * risk_aversion)
    return lambda state: jnp.asarray(amounts, state.wealth.dtype)


def buy_and_hold(env: Allocation, risk_aversion: float) -> Rule:
    """Equal shares at first, and no trade from then on."""
    start = jnp.full(env.assets, env.start_wealth / env.assets)
    return lambda state: jnp.where(state.step == 0, start, state.holdings)


RULES: dict[str, Callable[[Allocation, float], Rule]] = {
    "equal weight": equal_weight,
    "single-period Markowitz": markowitz,
    "buy and hold": buy_and_hold,
}
"""By name, from the environment and a risk aversion."""


def comparison(
    env: Allocation, rules: dict[str, Rule], risk_aversion: float, held: Paths | None = None, seed: int = 0
) -> list[dict[str, Any]]:
    """Final wealth of rules, on paths as the environment draws them and on paths that were held out.

    Arguments:
        env: with its costs and limits.
        rules: by name.
        risk_aversion: λ of the values.
        held: gross returns of the periods held out, path by path.
        seed: of the paths drawn.
    """
    inside = drawn(env, PATHS, jax.random.key(seed))
    rows = []
    for name, rule in rules.items():
        row = {"policy": name, **_statistics(play(env, rule, inside).wealth[-1], risk_aversion)}
        if held is not None:
            outside = _statistics(play(env, rule, held).wealth[-1], risk_aversion)
            row |= {f"held_out_{field}": value for field, value in outside.items()}
        rows.append(row)
    return rows


def weights_by_date(
    env: Allocation, rule: Rule, assets: Sequence[str], seed: int = 0
) -> list[dict[str, Any]]:
    """Mean amounts at each date, as shares of mean wealth, over paths as the environment draws them."""
    played = play(env, rule, drawn(env, PATHS, jax.random.key(seed)))
    wealth = played.wealth[:-1].mean(axis=1)
    shares = played.amounts.mean(axis=1) / wealth[:, None]
    return [
        {
            "date": date,
            "wealth": float(wealth[date]),
            **dict(zip(assets, map(float, row), strict=True)),
            "cash": float(1 - row.sum()),
        }
        for date, row in enumerate(shares)
    ]


def decisions(
    env: Allocation, policy: AbstractPolicy, gross: Paths, start: AllocationState
) -> tuple[Paths, Paths]:
    """Amounts decided on at the start and after each period that followed, and wealth then."""
    rule = rule_of(env, policy)
    padded = np.concatenate([gross, np.ones((1, env.assets))])
    played = play(env, rule, padded[None], start)
    return played.amounts[:, 0], played.wealth[:-1, 0]


def _statistics(wealth: Float[Paths, " m"], risk_aversion: float) -> dict[str, float]:
    mean, variance = float(wealth.mean(dtype=np.float64)), float(wealth.var(dtype=np.float64))
    value = mean - risk_aversion * variance
    return {"mean": mean, "std": variance**0.5, "value": value, "worst": float(wealth.min())}
