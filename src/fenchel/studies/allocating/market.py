"""From a table of returns to an environment to learn in, and rows that were kept out of it."""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from fenchel.data import AssetReturns
from fenchel.envs import Allocation, parameters
from fenchel.errors import require, require_choice

HOLDOUT = 0.2
"""Share of the rows, the last ones, that nothing is learned from."""

DEFAULTS: dict[str, Any] = {"horizon": 12, "riskless": 1.0}
"""Parameters with data, where nothing is said: a table says nothing of cash."""

FROM_DATA = ("mean", "covariance")
"""Parameters that a table takes the place of."""


@dataclass(frozen=True)
class Market:
    """An environment made of the first rows of a table.

    Arguments:
        env: draws from the rows to learn from.
        learned: those rows.
        held: the rows after them.
        kind: what the file held.
    """

    env: Allocation
    learned: AssetReturns
    held: AssetReturns
    kind: str = "prices"


def market(returns: AssetReturns, *, holdout: float = HOLDOUT, **fields: Any) -> Market:
    """The environment `Allocation` on a table, the last rows held out.

    Arguments:
        returns: what `fenchel.data.load_returns` loaded.
        holdout: share of the rows that are held out.
        **fields: parameters of `Allocation`; by default 12 dates, and cash that earns nothing.

    >>> import numpy as np
    >>> from fenchel.data import AssetReturns
    >>> gross = 1 + np.random.default_rng(0).normal(0.01, 0.05, (60, 2))
    >>> market(AssetReturns(("a", "b"), gross), horizon=6).env.assets
    2
    """
    for name, value in fields.items():
        require_choice("field", name, parameters(Allocation))
        require(name not in FROM_DATA, name, value, "follows from the data: leave one of the two out")
    chosen = {**DEFAULTS, **fields}
    learned, held = returns.split(holdout)
    learned.require_rows(chosen["horizon"], "the rows to learn from")
    learned.require_independent()
    _require_windows(held, chosen["horizon"])
    env = Allocation(table=jnp.asarray(learned.gross), **chosen)
    return Market(env, learned, held)


def _require_windows(held: AssetReturns, horizon: int) -> None:
    remedy = (
        f"were held out, and {horizon} dates need as many: take more data, fewer dates or a larger holdout"
    )
    require(len(held) >= horizon, "rows", len(held), remedy)
