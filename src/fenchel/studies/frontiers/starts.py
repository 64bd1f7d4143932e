"""Where learners begin whose policy and dual by turns have many resting places."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fenchel.envs import AbstractEnvironment
from fenchel.training.view import pilot_returns

DUALS = 8
"""Duals that are tried, each held while risk is phased in."""

RANGE = 0.02, 0.9
"""Quantiles of the returns of a pilot between which they are."""


def starts(
    objective: str | Callable[..., Any], env: AbstractEnvironment, values: Sequence[float]
) -> dict[str, list[float]]:
    """First duals to be tried beside the values of a grid.

    With a dual held, the problem is an ordinary one without resting places. CVaR has one for every return
    that many episodes share: the quantile is that return, and no policy near by changes it. A ratio has
    them because the dual J/M of a bold policy asks for boldness; the inverse of a dual is a return there.
    """
    if objective not in ("cvar", "sharpe") or env.differentiable:
        return {}
    low, high = np.quantile(pilot_returns(env), RANGE)
    if objective == "sharpe":
        low = max(low, min(values))
    if not high > low:
        return {}
    tried = np.linspace(low, high, DUALS + 1)[1:]
    return {"dual": (tried if objective == "cvar" else 1 / (tried - min(values))).tolist()}
