"""Policies that keep one row of numbers per state of a finite problem."""

from typing import Any, final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from fenchel.errors import require
from fenchel.policies.categorical import AbstractCategorical, AbstractDiscrete, require_epsilon
from fenchel.policies.features import require_index


@final
class Tabular(AbstractCategorical):
    """Softmax of a row of logits per state.

    Arguments:
        table: logits of every state and every action but the first, whose logit is zero.
        epsilon: the least probability of an action.

    >>> import jax.numpy as jnp
    >>> Tabular(jnp.zeros((5, 1))).probabilities(jnp.array(3)).tolist()
    [0.5, 0.5]
    """

    table: Float[Array, "states actions-1"]

    def __check_init__(self) -> None:
        _require_rows("table", self.table, 1)
        require_epsilon(self.epsilon, self.table.shape[1] + 1)

    def logits(self, observation: Int[Array, ""]) -> Float[Array, " actions-1"]:
        """The row of the state."""
        return _row(self.table, observation)


@final
class DirectTabular(AbstractDiscrete):
    """A row of probabilities per state, for ascent on the simplex (projected or entropic).

    log π(a|s) = log θ[s, a]. Where that is log 0 it is the logarithm of the smallest positive number
    instead, with no gradient, so that an action never taken cannot spoil a sum.

    Arguments:
        table: θ, the probabilities themselves; every row sums to one.

    >>> import jax.numpy as jnp
    >>> DirectTabular(jnp.array([[0.25, 0.75], [1.0, 0.0]])).probabilities(jnp.array(0)).tolist()
    [0.25, 0.75]
    """

    table: Float[Array, "states actions"]

    def __check_init__(self) -> None:
        _require_rows("table", self.table, 2)

    def probabilities(self, observation: Int[Array, ""]) -> Float[Array, " actions"]:
        """The row of the state."""
        return _row(self.table, observation)

    def log_prob(self, observation: Int[Array, ""], action: Int[Array, ""]) -> Float[Array, ""]:
        """The logarithm of θ[s, a]."""
        least = jnp.finfo(self.table.dtype).tiny  # type: ignore[no-untyped-call]
        return jnp.log(jnp.maximum(self.table[require_index(observation), action], least))


def _row(table: Float[Array, "states n"], observation: Int[Array, ""]) -> Float[Array, " n"]:
    return table[require_index(observation)]


def _require_rows(field: str, table: Any, least: int) -> None:
    fits = eqx.is_inexact_array(table) and table.ndim == 2 and table.shape[1] >= least
    remedy = f"must be a floating-point array [states, columns] of at least {least} columns"
    require(fits, field, f"{jnp.result_type(table).name}{list(jnp.shape(table))}", remedy)
