"""Finite problems from arrays of probabilities and rewards, dense or sparse, for all steps or per step."""

from typing import Any

import numpy as np

from fenchel.errors import require, require_count, require_number
from fenchel.exact.problem import Array, FiniteProblem
from fenchel.exact.said import is_per_step, read_start
from fenchel.exact.stepped import Stepped
from fenchel.exact.tables import StepTable, read_steps
from fenchel.exact.unfold import MOST_STATES, unfold


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
    source = Stepped(steps, chances, count or horizon, float(discount), name)
    source.check_reach()
    return unfold(source, most_states)


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
