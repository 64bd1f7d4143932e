"""The source of finite problems that come as arrays: what follows each state, and whether all is in order."""

from typing import Any

import numpy as np

from fenchel.errors import InputError, require
from fenchel.exact.problem import Array
from fenchel.exact.tables import StepTable
from fenchel.exact.unfold import Fan, Nodes


class Stepped:
    """The source that `unfold` asks; the content of a node is the number of its state."""

    start_points: int | None = None

    def __init__(self, steps: list[StepTable], start: Array, horizon: int | None, discount: float, name: str):
        self.steps, self.start, self.horizon = steps, start, horizon
        self.discount, self.name = discount, name

    def at(self, step: int) -> StepTable:
        """The table of a step."""
        return self.steps[min(step, len(self.steps) - 1)]

    def first(self) -> tuple[Array, Nodes]:
        """The states that an episode can start in."""
        possible = np.flatnonzero(self.start)
        return self.start[possible], Nodes(possible, np.zeros(len(possible)))

    def fan(self, nodes: Nodes, step: int) -> Fan:
        """The branches of all allowed actions."""
        here = self.at(step)
        actions = here.allowed.shape[1]
        rows = (nodes.content[:, None] * actions + np.arange(actions)).ravel()
        counts = np.where(here.allowed[nodes.content].ravel(), np.diff(here.table.indptr)[rows], 0)
        entries = _ranges(here.table.indptr[rows], counts)
        row = np.repeat(np.arange(len(rows)), counts)
        after = here.table.indices[entries]
        ended = here.terminal[after] | (self.horizon is not None and step + 1 >= self.horizon)
        earned = here.rewards[entries] + np.where(ended, here.bonus[after], 0)
        so_far = nodes.so_far[row // actions] + self.discount**step * earned
        return Fan(row, here.table.data[entries], ended, Nodes(after, so_far))

    def keys(self, nodes: Nodes) -> list[Array]:
        """The number of the state."""
        return [nodes.content]

    def about(self, nodes: Nodes, step: int) -> dict[str, Any]:
        """States are what they are numbered as, and that is what a policy sees."""
        numbers = nodes.content.astype(np.int32)
        return {"allowed": self.at(step).allowed[numbers], "states": numbers, "observations": numbers}

    def check_reach(self) -> None:
        """Raise for states that no policy reaches, and for episodes that need never end."""
        live, step, seen = self.start > 0, 0, [self.start > 0]
        while np.any(live) and step != self.horizon:
            here = self.at(step)
            use = np.repeat(live, here.allowed.shape[1]) & here.allowed.ravel()
            reached = np.asarray(use.astype(float) @ here.table) > 0
            seen.append(reached)
            live, step = reached & ~here.terminal, step + 1
            endless = self.horizon is None and step > here.size
            remedy = "an episode can go on there for ever: mark terminal states, or give a horizon"
            require(not endless, "terminal", f"not state {int(np.argmax(live))}", remedy)
        if len({len(reached) for reached in seen}) == 1:
            seen = [np.any(seen, axis=0)]
        for k, reached in enumerate(seen):
            missing = np.flatnonzero(~reached)
            if len(missing):
                names = ", ".join(map(str, missing[:5])) + (", ..." if len(missing) > 5 else "")
                remedy = (
                    f"no policy reaches state {names}{f' in step {k}' if len(seen) > 1 else ''}: leave it out"
                )
                raise InputError("transition", f"{len(missing)} unreachable", remedy)


def _ranges(first: Array, counts: Array) -> Array:
    """first[0], first[0] + 1, … counts[0] many of them, then those of first[1], and so on."""
    begun = np.cumsum(counts) - counts
    return np.asarray(np.arange(int(np.sum(counts))) + np.repeat(first - begun, counts))
