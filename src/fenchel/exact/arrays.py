"""Finite problems from arrays of probabilities and rewards, dense or sparse, for all steps or per step."""

from typing import Any

import numpy as np

from fenchel.errors import InputError, require, require_count, require_number
from fenchel.exact.problem import Array, FiniteProblem
from fenchel.exact.tables import StepTable, is_per_step, read_start, read_steps
from fenchel.exact.unfold import MOST_STATES, Fan, Nodes, unfold


def finite_problem(
    transition: Any,
    reward: Any,
    start: Any,
    *,
    horizon: int | None = None,
    terminal: Any = None,
    terminal_reward: Any = None,
    allowed: Any = None,
    discount: float = 1.0,
    most_states: int = MOST_STATES,
    name: str = "problem",
) -> FiniteProblem:
    """A finite decision problem from arrays.

    `transition`, `reward`, `terminal`, `terminal_reward` and `allowed` may be lists of arrays instead, one
    per step; then the states of step k + 1 are those that the table of step k leads to.

    Arguments:
        transition: P[s, a, s'], or a SciPy sparse table of it with the row s · A + a.
        reward: r[s, a], or r[s, a, s'] in the shape of the transition.
        start: the number of the first state, or the probability of each.
        horizon: decisions after which an episode is over; by default only terminal states end it.
        terminal: which s' end the episode when they are reached.
        terminal_reward: added to the reward of the last step, by the s' it leads to.
        allowed: which actions a state has; all by default.
        discount: factor per step on the rewards.
        most_states: refuse a problem with more (state, reward so far) pairs than this.
        name: of the problem, in messages.

    >>> import numpy as np
    >>> from fenchel.exact import best
    >>> from fenchel.objectives import Expectation
    >>> stay, leave = [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]  # an offer is low or high; state 2 is the end
    >>> offers = np.array([[stay, leave], [stay, leave], [leave, leave]])
    >>> payoff = np.array([[0.0, 1.0], [0.0, 3.0], [0.0, 0.0]])
    >>> problem = finite_problem(offers, payoff, 0, horizon=3, terminal=[False, False, True])
    >>> round(best(problem, Expectation()).value, 6)
    2.5
    """
    require_count("most_states", most_states)
    fits = 0 < require_number("discount", discount) <= 1
    require(fits, "discount", discount, "must be above 0 and at most 1")
    count = _count_steps(transition, horizon)
    steps = read_steps((transition, reward, terminal, terminal_reward, allowed), start, count)
    chances = read_start(start, steps[0].size)
    if count is None:
        _check_closed(steps[0], chances)
    source = _Arrays(steps, chances, count or horizon, float(discount), name)
    source.check_reach()
    return unfold(source, most_states)


class _Arrays:
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


def _count_steps(transition: Any, horizon: int | None) -> int | None:
    """How many tables there are; None where one serves all steps."""
    if is_per_step(transition):
        count = len(transition)
        fits = count > 0 and horizon in (None, count)
        require(fits, "horizon", horizon, f"must be {count}, the number of tables given; leave it out")
        return count
    if horizon is not None:
        require_count("horizon", horizon)
    return None


def _check_closed(step: StepTable, start: Array) -> None:
    """A table for all steps leads back to the states it starts in, and none starts where it ends."""
    before, after = step.size, int(step.table.shape[1])
    require(before == after, "transition", f"{before} to {after} states", "must lead back to the same states")
    over = np.flatnonzero((start > 0) & step.terminal)
    require(
        not len(over), "start", f"state {over[:1].tolist()}", "is terminal: an episode starts before its end"
    )


def _ranges(first: Array, counts: Array) -> Array:
    """first[0], first[0] + 1, … counts[0] many of them, then those of first[1], and so on."""
    begun = np.cumsum(counts) - counts
    return np.asarray(np.arange(int(np.sum(counts))) + np.repeat(first - begun, counts))
