"""What a user's arrays say, read and checked: one table per step, in one form."""

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse

from fenchel.errors import InputError, require
from fenchel.exact.problem import Array
from fenchel.exact.said import SUM_SLACK, each_step, numbers, shaped

_FIELDS = ("transition", "reward", "terminal", "terminal_reward", "allowed")


class StepTable(NamedTuple):
    """The table of a step: its branches row by row, their rewards, and what is known of the states."""

    table: csr_array
    rewards: Array
    allowed: Array
    terminal: Array
    bonus: Array

    @property
    def size(self) -> int:
        """States it starts in."""
        return int(self.allowed.shape[0])


def read_steps(said: tuple[Any, ...], start: Any, count: int | None) -> list[StepTable]:
    """A table per step, or one for all of them; `said` holds what is said of each of `_FIELDS`."""
    each = (each_step(field, value, count) for field, value in zip(_FIELDS, said, strict=True))
    steps: list[StepTable] = []
    for k, row in enumerate(zip(*each, strict=True)):
        where = "" if count is None else f" of step {k}"
        before = int(steps[-1].table.shape[1]) if steps else _count_states(f"transition{where}", row, start)
        steps.append(_step(where, before, *row))
        actions, first = (step.allowed.shape[1] for step in (steps[-1], steps[0]))
        remedy = f"must be {first} as in step 0: add rows, and rule them out by `allowed`"
        require(actions == first, f"transition{where}: actions", actions, remedy)
    return steps


def _step(
    where: str, size: int, transition: Any, reward: Any, terminal: Any, bonus: Any, allowed: Any
) -> StepTable:
    table, actions = _table(f"transition{where}", transition, size)
    after = int(table.shape[1])
    mask = (
        np.ones((size, actions), bool)
        if allowed is None
        else shaped("allowed", where, allowed, bool, (size, actions))
    )
    stuck = np.flatnonzero(~np.any(mask, axis=1))
    require(not len(stuck), f"allowed{where}", f"state {stuck[:1]}", "must leave every state an action")
    ends = np.zeros(after, bool) if terminal is None else shaped("terminal", where, terminal, bool, (after,))
    left = mask if where or size != after else mask & ~ends[:, None]  # an end of its own table is not left
    return StepTable(
        table=_checked(f"transition{where}", table, left),
        rewards=_rewards(where, reward, table, (size, actions)),
        allowed=mask,
        terminal=ends,
        bonus=np.zeros(after) if bonus is None else shaped("terminal_reward", where, bonus, float, (after,)),
    )


def _table(field: str, transition: Any, size: int) -> tuple[csr_array, int]:
    """The rows s · A + a, and A."""
    if issparse(transition):
        table = csr_array(transition, dtype=float, copy=True)
        fits = size > 0 and table.shape[0] % size == 0 and table.shape[0] > 0
        remedy = f"must have a row per state and action: a multiple of {size} of them"
        require(fits, field, f"sparse {table.shape}", remedy)
        actions = table.shape[0] // size
    else:
        dense = numbers(field, transition)
        fits = dense.ndim == 3 and dense.shape[0] == size and dense.shape[1] > 0
        require(fits, field, f"array {dense.shape}", f"must have the shape [{size} states, actions, states]")
        table, actions = csr_array(dense.reshape(-1, dense.shape[2])), dense.shape[1]
    table.sum_duplicates()
    table.eliminate_zeros()
    return table, int(actions)


def _checked(field: str, table: csr_array, allowed: Array) -> csr_array:
    """The table with rows that sum to one but for rounding; what comes as close as `SUM_SLACK` is scaled."""
    rows = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
    wrong = np.flatnonzero(~(np.isfinite(table.data) & (table.data >= 0)))
    if len(wrong):
        state, action = divmod(int(rows[wrong[0]]), allowed.shape[1])
        remedy = "must be probabilities, finite and not negative"
        raise InputError(f"{field}, state {state}, action {action}", float(table.data[wrong[0]]), remedy)
    sums = np.asarray(table.sum(axis=1)).ravel()
    off = np.flatnonzero(allowed.ravel() & (np.abs(sums - 1) > SUM_SLACK))
    if len(off):
        state, action = divmod(int(off[0]), allowed.shape[1])
        more = f" ({len(off)} such rows)" if len(off) > 1 else ""
        remedy = f"must sum to 1: scale the row, or mark the action in `allowed` as missing{more}"
        raise InputError(f"{field}, state {state}, action {action}: sum", float(sums[off[0]]), remedy)
    table.data /= np.where(sums > 0, sums, 1)[rows]
    return table


def _rewards(where: str, reward: Any, table: csr_array, shape: tuple[int, int]) -> Array:
    """The reward of every branch of a table."""
    rows = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
    full = (*shape, int(table.shape[1]))
    if issparse(reward):
        fits, found = reward.shape == table.shape, csr_array(reward)
        values = np.asarray(found[rows, table.indices]).ravel() if fits else np.zeros(0)
    else:
        dense = numbers(f"reward{where}", reward)
        fits = dense.shape in (shape, full)
        values = (
            dense.reshape(table.shape[0], -1)[rows, table.indices if dense.shape == full else 0]
            if fits
            else dense
        )
    remedy = f"must have the shape {list(shape)} or {list(full)}, or be sparse in the shape of the transition"
    require(fits, f"reward{where}", f"shape {np.shape(reward)}", remedy)
    require(bool(np.all(np.isfinite(values))), f"reward{where}", "not finite", "must be finite")
    return np.asarray(values, float)


def _count_states(field: str, row: tuple[Any, ...], start: Any) -> int:
    """States of the first step; where neither start nor table tells, `allowed` or the rewards do."""
    transition, reward, _, _, allowed = row
    if np.ndim(start) == 1:
        return len(start)
    if not issparse(transition):
        table = numbers(field, transition)
        return len(table) if table.ndim else 0
    by_state = (np.shape(x)[0] for x in (allowed, reward) if np.ndim(x) > 1 and not issparse(x))
    return next(by_state, int(transition.shape[1]))
