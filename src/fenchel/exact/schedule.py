"""The best schedule of the portfolio: in which steps to invest, and whether at every rate or only at one.

J and M are linear in the row of probabilities of each step, so J − λ M + λ J² is convex in each, and some
deterministic schedule is as good as any policy of step and rate that is never short of cash. The slopes of J
and M at a schedule tell exactly what every change of one row is worth: one gradient prices all of them.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from fenchel.envs.portfolio import Portfolio
from fenchel.exact.linear import LinearModel, linear_model, moments_of
from fenchel.exact.problem import Array
from fenchel.exact.solvency import reachable, shortages

ROWS = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
"""What a step can do: nothing, or invest at the high rate, at the low one, at both."""

ROUNDS = 8
"""Times that the best schedules are shaken and climb again."""

ELITE = 16
"""Schedules that are kept from round to round."""

POLISHED = 2
"""Schedules for which changes of two rows at once are tried."""

WINDOW = 16
"""Steps that a shake mostly stays within."""

BETTER = 1e-12
"""Relative gain that rounding does not explain."""


def best_schedule(
    env: Portfolio, risk_aversion: float, restarts: int, seed: int = 0
) -> Float[Array, "horizon 2"]:
    """Probabilities of investing, all 0 or 1, of the best schedule found.

    Local search from many schedules at once: each climbs by its best change of a row. Then the best are
    shaken and climb again, in rounds, and the best of those climb by changes of two rows. That is done twice.

    Arguments:
        env: a portfolio whose return is linear in its final wealth.
        risk_aversion: λ.
        restarts: how many schedules climb side by side.
        seed: of the first schedules and the shakes.
    """
    generator = np.random.default_rng(seed)
    search = _Search(env, risk_aversion, restarts)
    values, schedules = search.climbed(search.random(generator))
    for _ in range(2):
        for _ in range(ROUNDS):
            values, schedules = _best_of(values, schedules, ELITE)
            found = search.climbed(search.shaken(schedules, generator))
            values, schedules = np.append(values, found[0]), np.concatenate([schedules, found[1]])
        values, schedules = _best_of(values, schedules, ELITE)
        for rank in range(min(POLISHED, len(values))):
            values[rank], schedules[rank] = search.polished(float(values[rank]), schedules[rank])
    best: Array = schedules[np.argmax(values)]
    return best


class _Search:
    """Steps of the search; `width` schedules are priced side by side by one program."""

    def __init__(self, env: Portfolio, risk_aversion: float, width: int):
        self.env, self.risk_aversion, self.width = env, risk_aversion, width
        self.model, self.useful = linear_model(env), reachable(env)
        self.useful[-1] = False  # the last action changes nothing

    def random(self, generator: np.random.Generator) -> Array:
        """The empty schedule, and others of all densities."""
        shape = self.width, self.env.horizon
        steps = generator.random(shape) < generator.random((self.width, 1))
        rows = np.where(generator.random((self.width, 1, 1)) < 0.5, ROWS[1], ROWS[3])
        steps[0] = False
        return self._solvent(rows * steps[:, :, None])

    def shaken(self, schedules: Array, generator: np.random.Generator) -> Array:
        """Copies in which a window of steps is moved to and fro, or some of its rows are drawn anew."""
        copies, horizon = schedules[generator.integers(len(schedules), size=self.width)], self.env.horizon
        for copy in copies:
            first = generator.integers(horizon)
            last = horizon if generator.random() < 0.5 else min(horizon, first + WINDOW)
            part = copy[first:last]
            if generator.random() < 0.5:
                part[:] = np.roll(part, generator.integers(-2, 3), axis=0)
            else:
                drawn = generator.random(len(part)) < 4 / len(part)
                part[drawn] = ROWS[generator.integers(4, size=int(np.sum(drawn)))]
        return self._solvent(copies)

    def climbed(self, schedules: Array) -> tuple[Array, Array]:
        """Each changes its best row until none helps."""
        values = np.full(len(schedules), -np.inf)
        while True:
            found, changed = self._moved(schedules)
            up = _exceeds(found, values)
            if not np.any(up):
                return values, schedules
            schedules = np.where(up[:, None, None], changed, schedules)
            values = np.where(up, found, values)

    def polished(self, value: float, schedule: Array) -> tuple[float, Array]:
        """The best change of two rows, as long as there is one that helps."""
        count = self.env.horizon * len(ROWS)
        steps, rows = np.divmod(np.arange(count), len(ROWS))
        while True:
            neighbours = np.repeat(schedule[None], count, axis=0)
            neighbours[np.arange(count), steps] = ROWS[rows] * self.useful[steps]
            values, changed = self._moved(neighbours)
            best = int(np.argmax(values))
            if not _exceeds(values[best], value):
                return value, schedule
            value, schedule = float(values[best]), changed[best]

    def _moved(self, schedules: Array) -> tuple[Array, Array]:
        """The best solvent schedule that differs from each in at most one row, and its value."""
        parts = np.split(schedules, np.arange(self.width, len(schedules), self.width))
        found = [self._moved_part(part) for part in parts]
        return np.concatenate([one for one, _ in found]), np.concatenate([one for _, one in found])

    def _moved_part(self, schedules: Array) -> tuple[Array, Array]:
        count = np.arange(len(schedules))
        padded = np.concatenate([schedules, np.zeros((self.width - len(count), *schedules.shape[1:]))])
        with jax.enable_x64(True):
            priced = _priced(
                self.model, jnp.asarray(padded), jnp.asarray(ROWS), jnp.asarray(self.risk_aversion)
            )
        values = np.where(self._allowed(schedules), np.asarray(priced)[: len(count)], -np.inf)
        step, row = np.divmod(np.argmax(values.reshape(len(count), -1), axis=1), len(ROWS))
        changed = schedules.copy()
        changed[count, step] = ROWS[row] * self.useful[step]
        return values[count, step, row], changed

    def _allowed(self, schedules: Array) -> Bool[Array, "m horizon 4"]:
        """Which rows leave a schedule solvent, were they those of a step."""
        invests = self._invests(schedules)
        toggled = invests[:, None] ^ np.eye(self.env.horizon, dtype=bool)
        after, now = (~np.any(shortages(self.env, steps), axis=-1) for steps in (toggled, invests))
        with_it, without = np.where(invests, now[:, None], after), np.where(invests, after, now[:, None])
        return np.stack([without, with_it, with_it, with_it], axis=-1)

    def _invests(self, schedules: Array) -> Bool[Array, "m horizon"]:
        return np.asarray(np.any(schedules > 0, axis=-1))

    def _solvent(self, schedules: Array) -> Array:
        """Without the purchases that there may be no cash for, the first of them first."""
        found: Array = schedules * self.useful
        while True:
            short = shortages(self.env, self._invests(found))
            broken = np.flatnonzero(np.any(short, axis=1))
            if not len(broken):
                return found
            found[broken, np.argmax(short[broken], axis=1)] = 0


@eqx.filter_jit
def _priced(
    model: LinearModel, schedules: jax.Array, rows: jax.Array, risk_aversion: jax.Array
) -> Float[jax.Array, "m horizon 4"]:
    """J − λ Var of every schedule with every row in the place of that of every step."""

    def both(schedule: jax.Array) -> jax.Array:
        return jnp.stack(moments_of(model, schedule))

    def one(schedule: jax.Array) -> jax.Array:
        now, back = jax.vjp(both, schedule)
        slopes = jax.vmap(lambda unit: back(unit)[0])(jnp.eye(2))
        change = jnp.einsum("mkr,okr->mko", slopes, rows[:, None] - schedule[None])
        moved: jax.Array = now[:, None, None] + change
        return moved[0] - risk_aversion * (moved[1] - moved[0] ** 2)

    priced: jax.Array = jax.vmap(one)(schedules)
    return priced


def _best_of(values: Array, schedules: Array, count: int) -> tuple[Array, Array]:
    """The best of them, no two of the same value."""
    order = np.argsort(-values, kind="stable")
    fresh = np.append(True, ~np.isclose(np.diff(values[order]), 0, rtol=0, atol=1e3 * BETTER * _size(values)))
    kept = order[fresh][:count]
    return values[kept], schedules[kept]


def _exceeds(found: Any, value: Any) -> Any:
    return found > value + BETTER * np.abs(np.where(np.isfinite(value), value, 0))


def _size(values: Array) -> float:
    return float(np.max(np.abs(values), initial=1))
