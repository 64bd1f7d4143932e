"""Tiny problems and all their deterministic policies, in plain Python."""

from itertools import pairwise, product
from math import exp, inf, log, prod, sqrt
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

MOST_POLICIES = 3000


class Step(NamedTuple):
    """P[s][a][s'], r[s][a][s'], the actions of each s, and which s' end the episode, with what reward."""

    chances: list
    rewards: list
    actions: list
    terminal: list
    bonus: list


class Tiny(NamedTuple):
    """A step for each decision; `start` are the probabilities of the first states."""

    start: list
    steps: list
    discount: float
    varies: bool

    @property
    def horizon(self):
        return len(self.steps)

    def branches(self, step, state, action):
        """(s', probability, discounted reward, whether it ends) of everything that can follow."""
        here, last = self.steps[step], step + 1 == self.horizon
        for after, chance in enumerate(here.chances[state][action]):
            if chance > 0:
                ended = last or here.terminal[after]
                earned = here.rewards[state][action][after] + (here.bonus[after] if ended else 0)
                yield after, chance, self.discount**step * earned, ended


class Node(NamedTuple):
    state: int
    chance: float
    so_far: float


def laws(tiny, remember_all=True):
    """(return, probability) pairs of every policy: an action per history, or per (state, reward so far)."""

    def follow(step, live, ended):
        if not live:
            yield ended
            return
        for choice in product(*(tiny.steps[step].actions[node.state] for node in live.values())):
            onward, over = {}, list(ended)
            for (history, node), action in zip(live.items(), choice, strict=True):
                for after, chance, earned, ends in tiny.branches(step, node.state, action):
                    so_far, reached = node.so_far + earned, node.chance * chance
                    if ends:
                        over.append((so_far, reached))
                        continue
                    key = (history, action, after) if remember_all else (after, round(so_far, 8))
                    before = onward[key].chance if key in onward else 0
                    onward[key] = Node(after, before + reached, so_far)
            yield from follow(step + 1, onward, over)

    first = {state: Node(state, chance, 0.0) for state, chance in enumerate(tiny.start) if chance > 0}
    yield from follow(0, first, [])


def count(tiny):
    """How many policies that remember their history there are."""

    def below(step, state):
        return sum(
            prod(
                below(step + 1, after) for after, *_, ended in tiny.branches(step, state, action) if not ended
            )
            for action in tiny.steps[step].actions[state]
        )

    return prod(below(0, state) for state, chance in enumerate(tiny.start) if chance > 0)


def mean(law):
    return sum(chance * ret for ret, chance in law)


def second(law):
    return sum(chance * ret**2 for ret, chance in law)


def variance(law):
    centre = mean(law)
    return sum(chance * (ret - centre) ** 2 for ret, chance in law)


def lower_hull(points):
    """Corners of the lower boundary by rising mean (Andrew's monotone chain); rounding is rounded away."""
    lowest = {}
    for x, y in np.round(points, 12).tolist():
        lowest[x] = min(y, lowest.get(x, y))
    kept = []
    for point in sorted(lowest.items()):
        while len(kept) > 1 and _turn(kept[-2], kept[-1], point) <= 0:
            kept.pop()
        kept.append(point)
    return kept


def _turn(a, b, c):
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def highest_mean(hull, bound):
    """The greatest J with M − J² ≤ ζ between the corners of a hull, mixtures of two of them included."""
    found = [x for x, y in hull if y - x**2 <= bound]
    for (left, low), (right, high) in pairwise(hull):
        slope = (high - low) / (right - left)  # ζ + J² = low + slope (J − left)
        root = slope**2 / 4 + slope * -left + low - bound
        if root >= 0:
            crossings = slope / 2 - sqrt(root), slope / 2 + sqrt(root)
            found += [mean for mean in crossings if left <= mean <= right]
    return max(found, default=-inf)


def cvar(law, level):
    """The mean of the worst share of the outcomes, taken from the worst up."""
    left, total = level, 0.0
    for ret, chance in sorted(law):
        taken = min(left, chance)
        total, left = total + taken * ret, left - taken
    return total / (level - left)


def entropic(law, risk_aversion):
    worst = min(ret for ret, _ in law)
    return (
        worst - log(sum(chance * exp(-risk_aversion * (ret - worst)) for ret, chance in law)) / risk_aversion
    )


@st.composite
def tiny_problems(draw, most_policies=MOST_POLICIES):
    """Problems, the same in all steps or not, with rewards that often add up to the same, or never."""
    states, actions = draw(st.sampled_from([2, 2, 3, 3, 1])), draw(st.sampled_from([2, 2, 3]))
    horizon, varies = draw(st.sampled_from([3, 3, 3, 2, 1])), draw(st.booleans())
    unit = draw(st.sampled_from([0.5, 0.001]))
    rewards = st.integers(-2, 2) if unit == 0.5 else st.integers(-2000, 2000)
    reward = rewards.map(lambda number: unit * number)
    chances = st.lists(st.integers(0, 3), min_size=states, max_size=states).filter(any).map(_scaled)

    def step():
        table = [[draw(chances) for _ in range(actions)] for _ in range(states)]
        earned = [[[draw(reward) for _ in range(states)] for _ in range(actions)] for _ in range(states)]
        everything = list(range(actions))
        some = st.sampled_from([everything, everything, everything, everything[1:], everything[:1]])
        allowed = [draw(some) for _ in range(states)]
        terminal = [draw(st.sampled_from([False, False, False, True])) and states > 1 for _ in range(states)]
        bonus = [draw(reward) for _ in range(states)]
        return Step(table, earned, allowed, terminal, bonus)

    steps = [step() for _ in range(horizon)] if varies else [step()] * horizon
    start = draw(chances)
    discount = draw(st.sampled_from([1.0, 0.9, 0.5]))
    if not varies:  # no episode starts where it ends
        first = [0 if ends else chance for chance, ends in zip(start, steps[0].terminal, strict=True)]
        start = _scaled(first) if any(first) else None
    if start is None:
        steps = [here._replace(terminal=[False] * states) for here in steps]
        start = draw(chances)
    for length in range(horizon, 0, -1):
        tiny = Tiny(start, steps[:length], discount, varies)
        if count(tiny) <= most_policies:
            return tiny
    return tiny


def generic(seed):
    """A problem of one size, no two of whose 32 returns are the same."""
    rng = np.random.default_rng(seed)
    chances, rewards = rng.dirichlet([1, 1], (2, 2)).tolist(), rng.normal(size=(2, 2, 2)).tolist()
    step = Step(chances, rewards, [[0, 1]] * 2, [False] * 2, rng.normal(size=2).tolist())
    return Tiny(rng.dirichlet([1, 1]).tolist(), [step] * 2, rng.uniform(0.5, 1), False)


def _scaled(numbers):
    return [number / sum(numbers) for number in numbers]
