"""Tiny problems as fenchel reads them."""

import numpy as np

from fenchel.exact import finite_problem


def finite(tiny, **how):
    """The same problem, without the states that no policy reaches."""
    live, kept = _reach(tiny)
    live = [states for states in live if states]
    if not tiny.varies:
        live, kept = [set().union(*live)], [set().union(*kept)] * 2
    keep = [sorted(states) for states in kept]
    tables = [_table(tiny.steps[k], live[k], keep[k], keep[k + 1], tiny.varies) for k in range(len(live))]
    columns = [list(column) for column in zip(*tables, strict=True)] if tiny.varies else tables[0]
    names = ("transition", "reward", "terminal", "terminal_reward", "allowed")
    start = np.array(tiny.start)[keep[0]]
    given = dict(zip(names, columns, strict=True), start=start, discount=tiny.discount)
    return finite_problem(**given, **({} if tiny.varies else {"horizon": tiny.horizon}), **how)


def _reach(tiny):
    """The states that decide in each step, and all that are reached."""
    live = {state for state, chance in enumerate(tiny.start) if chance > 0}
    deciding, reached = [], [live]
    for step in range(tiny.horizon):
        deciding.append(live)
        after = [
            branch
            for state in live
            for action in tiny.steps[step].actions[state]
            for branch in tiny.branches(step, state, action)
        ]
        reached.append({state for state, *_ in after})
        live = {state for state, *_, ended in after if not ended}
    return deciding, reached


def _table(step, live, before, after, varies):
    """Rows of states that never decide are made up: a list of steps needs them, one for all does not."""
    actions = len(step.chances[0])
    chances = np.array(step.chances)[before][:, :, after]
    for row, state in enumerate(before):
        if state not in live:
            chances[row] = np.eye(len(after))[0] if varies or not step.terminal[state] else 0
    rewards = np.array(step.rewards)[before][:, :, after]
    allowed = np.array([[a in step.actions[state] for a in range(actions)] for state in before])
    return chances, rewards, np.array(step.terminal)[after], np.array(step.bonus)[after], allowed
