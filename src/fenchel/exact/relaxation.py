"""What no policy of the portfolio exceeds: an upper bound on J − λ Var by stochastic dual programming.

J − λ Var is the greatest E[R − λ (R − η)²] over η, and the best η is J, so it is from 0 to max J. Relax the
problem: a purchase may cost anything from 0 to the lower of wish and cash, as every true one does. Then with
v = (z, η), of which no number is negative, the best V_k(rate, v) is concave in v, because v′ is linear in v
and the cost x, x is at most a concave function of v, and R − λ (R − η)² is concave. It is bounded by planes:

* At the end every δ gives one, since −d² ≤ δ² − 2 δ d, with d = R − η.
* For any mix c_n of planes that bound V_{k+1} after outcome n, V_k is at most the maximum over x of
  Σ_n p_n c_n · (keep_n v + x bought_n): a plane, and the slope in x, where positive, times a bound on x.

So every plane is valid, wherever it came from; good ones are made where the best policy so far leads. All
coefficients are raised by what rounding can have taken from them, which is enough because v is not negative.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from fenchel.envs.portfolio import Portfolio
from fenchel.errors import require_count, require_positive
from fenchel.exact.linear import LinearModel, linear_model
from fenchel.exact.planes import Game, Move, Pool, plane, replaced, solve_at, summit, tangents

ITERATIONS = 60
"""Rounds of planes; twice as many lower the bound of the default portfolio by less than 0.5 %."""

PLANES = 256
"""Planes kept per step and rate; the one that was longest not the lowest anywhere gives way to a new one."""

TRIALS = 16
"""Episodes in a round, and planes per step and rate that come of them."""

TANGENTS = 16
"""Planes at the beginning: those of a constant δ."""


def portfolio_upper(
    env: Portfolio, risk_aversion: float, *, iterations: int = ITERATIONS, seed: int = 0
) -> float:
    """A number that J − λ Var of no policy exceeds, however it depends on the past or on chance.

    Arguments:
        env: a portfolio whose return is linear in its final wealth.
        risk_aversion: λ.
        iterations: how many rounds of planes; more of them lower the bound.
        seed: of the episodes that say where planes are made.

    >>> round(portfolio_upper(Portfolio(horizon=1), 1.0, iterations=1), 6)  # the rate of the cash
    1.001
    """
    require_positive("risk_aversion", risk_aversion)
    require_count("iterations", iterations)
    with jax.enable_x64(True):
        game, aversion = _game(linear_model(env)), jnp.asarray(risk_aversion, jnp.float64)
        key, pool, highest = jax.random.key(seed), *_opening(game, aversion, env.horizon)
        best = float(highest)
        for count in range(1, iterations + 1):
            pool, upper = _improved(
                game, pool, highest, aversion, jnp.asarray(count), jax.random.fold_in(key, count)
            )
            best = min(best, float(upper))
        return min(best, float(summit(game, pool.planes[0], highest)[1]))


def _game(model: LinearModel) -> Game:
    wide = (0, 1)
    keep = jnp.pad(model.keep, ((0, 0), (0, 0), wide, wide)).at[..., -1, -1].set(1)
    terms = keep.shape[1] * keep.shape[2] + 16
    return Game(
        move=Move(jnp.sum(model.arrive, axis=2), keep, jnp.pad(model.bought, ((0, 0), (0, 0), wide))),
        leads=jnp.argmax(model.arrive, axis=2),
        base=jnp.pad(model.base, wide),
        wealth=jnp.pad(model.wealth, wide),
        rates=model.start[:, -1],
        first=jnp.pad(jnp.sum(model.start, axis=0), wide),
        rounding=terms * float(np.finfo(float).eps),
    )


@eqx.filter_jit
def _opening(game: Game, aversion: Array, horizon: int) -> tuple[Pool, Array]:
    """The planes of constant δ carried to the first step, and a bound on max J, which is the one of δ = 0."""

    def back(ahead: Array, _: None) -> tuple[Array, Array]:
        found = jax.vmap(plane, (0, 0, None, None))(game.move, ahead[game.leads], game.base, game.rounding)
        return found, found

    def carried(shortfalls: Array) -> Array:
        last = jnp.broadcast_to(tangents(game, aversion, shortfalls), (2, len(shortfalls), len(game.first)))
        planes = jax.lax.scan(back, last, None, horizon - 1)[1]
        return jnp.concatenate([planes[::-1], last[None]])

    sure = carried(jnp.zeros(1))[0, :, 0] @ game.first
    highest = (game.rates @ sure) * (1 + 4 * game.rounding)
    planes = carried(-highest * jnp.append(jnp.geomspace(1, 1e-3, TANGENTS - 1), 0))
    filled = jnp.concatenate([planes, jnp.repeat(planes[:, :, -1:], PLANES - TANGENTS, axis=2)], axis=2)
    used = jnp.where(jnp.arange(PLANES) < TANGENTS, 0, -1)
    return Pool(filled, jnp.broadcast_to(used, filled.shape[:3])), highest


@eqx.filter_jit
def _improved(
    game: Game, pool: Pool, highest: Array, aversion: Array, count: Array, key: Key[Array, ""]
) -> tuple[Pool, Array]:
    """A round: the bound, episodes of the policy that is best by the planes, and planes where they led."""
    dual, upper, lowest = summit(game, pool.planes[0], highest)
    start, play = jax.random.split(key)
    rate = (jax.random.uniform(start, (TRIALS,)) >= game.rates[0]).astype(int)
    point = jnp.broadcast_to(game.first.at[-1].set(dual), (TRIALS, len(game.first)))
    uniforms = jax.random.uniform(play, (len(pool.planes) - 1, TRIALS))
    solve = jax.vmap(solve_at, (None, None, 0))

    def forward(carry: tuple[Array, Array], given: tuple[Array, Array]) -> Any:
        (rate, point), (ahead, uniform) = carry, given
        cost, _, lowest = solve(game, ahead, point)
        reached = jnp.cumsum(game.move.chance, axis=1)[rate]
        outcome = jnp.minimum(jnp.sum(uniform[:, None] >= reached, axis=1), reached.shape[1] - 1)
        moved = jnp.einsum("mij,mj->mi", game.move.keep[rate, outcome], point)
        bought = cost[jnp.arange(TRIALS), rate, None] * game.move.bought[rate, outcome]
        return (game.leads[rate, outcome], moved + bought), (point, jnp.any(lowest, axis=0))

    def backward(ahead: Array, given: tuple[Pool, Array]) -> tuple[Array, Pool]:
        mine, point = given
        mine = replaced(mine, jnp.swapaxes(solve(game, ahead, point)[1], 0, 1), count)
        return mine.planes, mine

    (_, point), (points, seen) = jax.lax.scan(forward, (rate, point), (pool.planes[1:], uniforms))
    used = jnp.where(jnp.concatenate([lowest[None], seen]), count, pool.used)
    pool = pool._replace(used=used)
    ends = tangents(game, aversion, point @ game.wealth - point[:, -1])
    last = replaced(jax.tree.map(lambda x: x[-1], pool), jnp.stack([ends, ends]), count)
    rest = jax.tree.map(lambda x: x[:-1], pool)
    _, rest = jax.lax.scan(backward, last.planes, (rest, points), reverse=True)
    return jax.tree.map(lambda most, end: jnp.concatenate([most, end[None]]), rest, last), upper
