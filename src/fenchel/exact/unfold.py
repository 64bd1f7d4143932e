"""From a way to take one step to all (state, reward so far) pairs that can be reached."""

from abc import abstractmethod
from typing import Any, NamedTuple, Protocol

import jax
import numpy as np
from jaxtyping import PyTree
from scipy.sparse import csr_array

from fenchel.errors import InputError
from fenchel.exact.grouping import groups, labels
from fenchel.exact.problem import Array, FiniteProblem, Layer

MOST_STATES = 1_000_000
"""States up to which a problem is unfolded."""

BRANCHES = 8
"""Branches out of one layer, in multiples of the states allowed: they are in memory all at once."""


class Nodes(NamedTuple):
    """Some states, a row each: what the source knows of them, and the reward so far."""

    content: PyTree
    so_far: Array

    def take(self, rows: Array) -> "Nodes":
        """Some of them."""
        return Nodes(*jax.tree.map(lambda x: x[rows], tuple(self)))


class Fan(NamedTuple):
    """All that can follow from the nodes of a layer, a branch per row.

    `row` is where it starts: number of the node times number of actions, plus action. Of the nodes of ended
    episodes only the reward so far counts, which is their return.
    """

    row: Array
    chance: Array
    ended: Array
    nodes: Nodes


class Source(Protocol):
    """Whatever can be unfolded."""

    name: str
    start_points: int | None

    @abstractmethod
    def first(self) -> tuple[Array, Nodes]:
        """Probabilities of the first states, and these."""

    @abstractmethod
    def fan(self, nodes: Nodes, step: int) -> Fan:
        """Everything that can follow from these states."""

    @abstractmethod
    def keys(self, nodes: Nodes) -> list[Array]:
        """Columns of numbers that tell states apart, besides the reward so far."""

    @abstractmethod
    def about(self, nodes: Nodes, step: int) -> dict[str, Any]:
        """`allowed`, `states` and `observations` of a layer of these states."""


class _Draft(NamedTuple):
    """A layer whose returns are not numbered yet."""

    about: dict[str, Any]
    moves: csr_array
    rows: Array
    chances: Array
    returns: Array


def unfold(source: Source, most_states: int = MOST_STATES) -> FiniteProblem:
    """All states that can be reached, layer by layer; paths that meet in one are joined."""
    chances, nodes = source.first()
    nodes, index = _join(source, nodes)
    start = np.bincount(index, chances)
    drafts: list[_Draft] = []
    reached = len(nodes.so_far)
    while len(nodes.so_far):
        draft, nodes = _advance(source, nodes, len(drafts), most_states)
        drafts.append(draft)
        reached += len(nodes.so_far)
        _require_room(reached, most_states, "pairs of state and reward so far", source.name, len(drafts))
    ranks = labels(np.concatenate([draft.returns for draft in drafts]))
    values = np.zeros(ranks.max(initial=-1) + 1)
    values[ranks] = np.concatenate([draft.returns for draft in drafts])
    parts = np.split(ranks, np.cumsum([len(draft.rows) for draft in drafts])[:-1])
    layers = tuple(_finish(draft, part, len(values)) for draft, part in zip(drafts, parts, strict=True))
    return FiniteProblem(start, layers, values, source.start_points, source.name)


def _advance(source: Source, nodes: Nodes, step: int, most_states: int) -> tuple[_Draft, Nodes]:
    fan, about = source.fan(nodes, step), source.about(nodes, step)
    _require_room(len(fan.row), BRANCHES * most_states, "branches out of one layer", source.name, step)
    onward, ended = np.flatnonzero(~fan.ended), np.flatnonzero(fan.ended)
    following, index = _join(source, fan.nodes.take(onward))
    moves = _table(fan.chance[onward], fan.row[onward], index, (about["allowed"].size, len(following.so_far)))
    ends = fan.row[ended], fan.chance[ended], fan.nodes.so_far[ended]
    return _Draft({**about, "so_far": nodes.so_far}, moves, *ends), following


def _join(source: Source, nodes: Nodes) -> tuple[Nodes, Array]:
    """Equal nodes as one, and the new number of every old one."""
    if not len(nodes.so_far):
        return nodes, np.zeros(0, np.int64)
    first, index = groups([*source.keys(nodes), nodes.so_far])
    return nodes.take(first), index


def _finish(draft: _Draft, ranks: Array, count: int) -> Layer:
    ends = _table(draft.chances, draft.rows, ranks, (draft.about["allowed"].size, count))
    return Layer(draft.moves, ends, **draft.about)


def _table(chances: Array, rows: Array, columns: Array, shape: tuple[int, int]) -> csr_array:
    table = csr_array((chances, (rows, columns)), shape=shape)
    table.sum_duplicates()
    return table


def _require_room(count: int, most: int, what: str, name: str, step: int) -> None:
    if count > most:
        remedy = (
            f"{name} reaches {count:,} {what} by step {step}: shorten its horizon, coarsen its rewards so "
        )
        raise InputError(
            "most_states", most, f"{remedy}that more of their sums coincide, or raise most_states"
        )
