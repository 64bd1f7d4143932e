"""What a user's arrays say, read and checked: one table per step, in one form."""

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse

from fenchel.errors import InputError, require
from fenchel.exact.problem import Array

ROW_SLACK = 1e-9
"""How far from one the probabilities of a row may add up to."""

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
    each = (_each(field, value, count) for field, value in zip(_FIELDS, said, strict=True))
    rows = list(zip(*each, strict=True))
    steps: list[StepTable] = []
    for k, row in enumerate(rows):
        before = steps[-1].table.shape[1] if steps else _count_states(row[0], start)
        steps.append(_step("" if len(rows) == 1 else f" of step {k}", int(before), *row))
    return steps


def _step(
    where: str, size: int, transition: Any, reward: Any, terminal: Any, bonus: Any, allowed: Any
) -> StepTable:
    table, actions = _table(f"transition{where}", transition, size)
    after = int(table.shape[1])
    mask = (
        np.ones((size, actions), bool)
        if allowed is None
        else _shaped("allowed", where, allowed, bool, (size, actions))
    )
    stuck = np.flatnonzero(~np.any(mask, axis=1))
    require(not len(stuck), f"allowed{where}", f"state {stuck[:1]}", "must leave every state an action")
    ends = np.zeros(after, bool) if terminal is None else _shaped("terminal", where, terminal, bool, (after,))
    left = mask if where or size != after else mask & ~ends[:, None]
    _check_rows(f"transition{where}", table, left)
    return StepTable(
        table=table,
        rewards=_rewards(where, reward, table, (size, actions)),
        allowed=mask,
        terminal=ends,
        bonus=np.zeros(after) if bonus is None else _shaped("terminal_reward", where, bonus, float, (after,)),
    )


def _table(field: str, transition: Any, size: int) -> tuple[csr_array, int]:
    """The rows s · A + a, and A."""
    if issparse(transition):
        table = csr_array(transition, dtype=float)
        fits = size > 0 and table.shape[0] % size == 0 and table.shape[0] > 0
        remedy = f"must have a row per state and action: a multiple of {size} of them"
        require(fits, field, f"sparse {table.shape}", remedy)
        actions = table.shape[0] // size
    else:
        dense = np.asarray(transition, float)
        fits = dense.ndim == 3 and dense.shape[0] == size and dense.shape[1] > 0
        require(fits, field, f"array {dense.shape}", f"must have the shape [{size} states, actions, states]")
        table, actions = csr_array(dense.reshape(-1, dense.shape[2])), dense.shape[1]
    table.sum_duplicates()
    table.eliminate_zeros()
    return table, int(actions)


def _check_rows(field: str, table: csr_array, allowed: Array) -> None:
    rows = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
    wrong = np.flatnonzero(~(np.isfinite(table.data) & (table.data >= 0)))
    if len(wrong):
        state, action = divmod(int(rows[wrong[0]]), allowed.shape[1])
        remedy = "must be probabilities, finite and not negative"
        raise InputError(f"{field}, state {state}, action {action}", float(table.data[wrong[0]]), remedy)
    sums = np.asarray(table.sum(axis=1)).ravel()
    off = np.flatnonzero(allowed.ravel() & (np.abs(sums - 1) > ROW_SLACK))
    if len(off):
        state, action = divmod(int(off[0]), allowed.shape[1])
        more = f" ({len(off)} such rows)" if len(off) > 1 else ""
        remedy = f"must sum to 1: scale the row, or mark the action in `allowed` as missing{more}"
        raise InputError(f"{field}, state {state}, action {action}: sum", float(sums[off[0]]), remedy)


def _rewards(where: str, reward: Any, table: csr_array, shape: tuple[int, int]) -> Array:
    """The reward of every branch of a table."""
    rows = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
    full = (*shape, int(table.shape[1]))
    if issparse(reward):
        fits, found = reward.shape == table.shape, csr_array(reward)
        values = np.asarray(found[rows, table.indices]).ravel() if fits else np.zeros(0)
    else:
        dense = np.asarray(reward, float)
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


def _shaped(field: str, where: str, value: Any, kind: type, shape: tuple[int, ...]) -> Array:
    array = np.asarray(value)
    require(
        array.shape == shape, f"{field}{where}", f"shape {array.shape}", f"must have the shape {list(shape)}"
    )
    if kind is bool:
        require(array.dtype == bool, f"{field}{where}", str(array.dtype), "must be of True and False")
        return array
    numbers = np.asarray(array, float)
    require(bool(np.all(np.isfinite(numbers))), f"{field}{where}", "not finite", "must be finite")
    return numbers


def read_start(start: Any, size: int) -> Array:
    """The probability of each first state."""
    if np.ndim(start) == 0:
        whole = isinstance(start, int | np.integer) and not isinstance(start, bool)
        require(whole and 0 <= start < size, "start", start, f"must be the number of a state, below {size}")
        return np.asarray(np.eye(size)[int(start)])
    chances = np.asarray(start, float)
    fits = chances.shape == (size,) and np.all(np.isfinite(chances)) and np.all(chances >= 0)
    require(bool(fits), "start", start, f"must be {size} probabilities, or the number of a state")
    total = float(np.sum(chances))
    require(abs(total - 1) <= ROW_SLACK, "start: sum", total, "must sum to 1")
    return chances


def is_per_step(value: Any) -> bool:
    """A list of arrays is an entry per step; a list of numbers, or an array, is for all steps."""
    return isinstance(value, list | tuple) and all(isinstance(x, np.ndarray) or issparse(x) for x in value)


def _each(field: str, value: Any, count: int | None) -> list[Any]:
    if not is_per_step(value):
        return [value] * (count or 1)
    remedy = (
        "may be a list of arrays only where transition is one"
        if count is None
        else f"must have {count} entries"
    )
    require(len(value) == count, field, f"a list of {len(value)} arrays", remedy)
    return list(value)


def _count_states(transition: Any, start: Any) -> int:
    if np.ndim(start) == 1:
        return len(start)
    return int(transition.shape[1]) if issparse(transition) else len(np.asarray(transition))
