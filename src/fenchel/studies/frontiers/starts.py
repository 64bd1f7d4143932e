"""Where learners begin whose policy and dual by turns have many resting places."""

from collections.abc import Callable
from typing import Any

import numpy as np

from fenchel.envs import AbstractEnvironment
from fenchel.training.view import pilot_returns

CAUTIONS = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)
"""Of learners of a Sharpe ratio."""

DUALS = 8
"""Duals of learners of CVaR, which are held while risk is phased in."""

RANGE = 0.02, 0.9
"""Quantiles of the returns of a pilot between which they are."""


def starts(objective: str | Callable[..., Any], env: AbstractEnvironment) -> dict[str, list[float]]:
    """Settings to be tried beside the risk aversions; the first of each are those of the objective itself.

    With a dual held, the problem is an ordinary one without resting places. CVaR has one for every return
    that many episodes share: the quantile is that return, and no policy near by changes it.
    """
    if objective == "sharpe":
        return {"caution": list(CAUTIONS)}
    if objective == "cvar" and not env.differentiable:
        low, high = np.quantile(pilot_returns(env), RANGE)
        return {"dual": [float(dual) for dual in np.linspace(low, high, DUALS + 1)[1:]]} if high > low else {}
    return {}
