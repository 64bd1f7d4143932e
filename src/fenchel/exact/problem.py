"""Finite decision problems: layers of states, each of which knows the reward so far."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.sparse import csr_array

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Layer:
    """The states in which the k-th decision is taken, and where each action leads.

    Arguments:
        moves: probability of reaching a state of the next layer, a row per state and action: that of action a
            in state s is row s · A + a.
        ends: probability of ending the episode with a return, the columns being `FiniteProblem.returns`.
        allowed: which actions a state has.
        states: the number of each state where the problem came from.
        so_far: the discounted reward that each state has behind it.
        observations: what a policy sees in each state.
    """

    moves: csr_array
    ends: csr_array
    allowed: Bool[Array, "n A"]
    states: Int[Array, " n"]
    so_far: Float[Array, " n"]
    observations: Array

    @property
    def size(self) -> int:
        """How many states there are."""
        return int(self.allowed.shape[0])


@dataclass(frozen=True)
class FiniteProblem:
    """A decision problem of finitely many steps, states and actions, in which all that counts is the return.

    Its states are pairs of a state of the original problem and the reward so far. That is what makes any
    objective E[ψ(R, y)] an ordinary dynamic programme: all reward is a utility of the return, at the end.

    Arguments:
        start: probability of each state of the first layer.
        layers: the states by the number of decisions before them.
        returns: all returns an episode can have, in rising order.
        start_points: how many first states stand for an interval of them; None where the start is as it is.
    """

    start: Float[Array, " n"]
    layers: tuple[Layer, ...]
    returns: Float[Array, " E"]
    start_points: int | None = None
    name: str = field(default="problem")

    @property
    def horizon(self) -> int:
        """The most decisions that an episode can have."""
        return len(self.layers)

    @property
    def actions(self) -> int:
        """How many actions there are."""
        return int(self.layers[0].allowed.shape[1])

    @property
    def size(self) -> int:
        """How many states there are in all layers."""
        return sum(layer.size for layer in self.layers)

    @property
    def largest_return(self) -> float:
        """The largest absolute value of a return, the scale that rounding errors are measured by."""
        return float(np.max(np.abs(self.returns)))

    @cached_property
    def centre(self) -> float:
        """c, the best mean. Moments are those of R − c: a constant in all returns costs them no digits."""
        ahead = np.zeros(0)
        for _, layer in self.backwards():
            worth = (layer.moves @ ahead + layer.ends @ self.returns).reshape(layer.allowed.shape)
            ahead = np.max(worth, axis=1, where=layer.allowed, initial=-np.inf)
        return float(self.start @ ahead)

    @cached_property
    def moments_at_end(self) -> tuple[Float[Array, "nA 2"], ...]:
        """E[R − c; end] and E[(R − c)²; end] of every row of every layer."""
        gaps = self.returns - self.centre
        powers = np.stack([gaps, gaps**2], axis=1)
        return tuple(np.asarray(layer.ends @ powers) for layer in self.layers)

    @cached_property
    def onward(self) -> tuple[tuple[csr_array | None, ...], ...]:
        """`moves` of every layer by action, a row per state; None where it always ends the episode."""
        split = ([layer.moves[a :: self.actions] for a in range(self.actions)] for layer in self.layers)
        return tuple(tuple(table if table.nnz else None for table in tables) for tables in split)

    def backwards(self) -> Iterator[tuple[int, Layer]]:
        """The layers from the last to the first, with their numbers."""
        return zip(range(self.horizon - 1, -1, -1), reversed(self.layers), strict=True)
