"""Instances to measure on."""

from typing import Any

from fenchel.envs import make
from fenchel.theory.instance import Instance


def straddle(risk_aversion: float = 1.0) -> Instance:
    """Three decisions on an option that pays |x − 1|: six states, fifteen paths, a risky optimum."""
    numbers = {"horizon": 3, "start": 1.0, "up": 1.3, "down": 0.5, "up_probability": 0.5}
    return _made("straddle", "option", risk_aversion, {**numbers, "put_strike": 1.0, "call_strike": 1.0})


def waiting(risk_aversion: float = 0.5) -> Instance:
    """Three decisions in a small stopping problem: costs, so returns below zero."""
    numbers = {
        "horizon": 3,
        "start": 1.0,
        "up": 1.5,
        "down": 0.5,
        "up_probability": 0.3,
        "waiting_cost": 0.05,
    }
    return _made("waiting", "stopping", risk_aversion, numbers)


def far_from_zero(risk_aversion: float = 1.0) -> Instance:
    """Two decisions on a put far in the money: all returns are near 99, where Lemma 2 as printed fails."""
    numbers = {"horizon": 2, "start": 1.0, "up": 1.1, "down": 0.9, "up_probability": 0.1}
    return _made(
        "far from zero", "option", risk_aversion, {**numbers, "put_strike": 100.0, "call_strike": 100.0}
    )


def _made(name: str, env: str, risk_aversion: float, numbers: dict[str, Any]) -> Instance:
    return Instance(name, make(env, observe="index", **numbers), risk_aversion)
