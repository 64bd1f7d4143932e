"""Planes above concave functions: the pieces that the bound on all policies of the portfolio is made of."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

SECANTS = 6
"""Steps towards the best x; with fewer, planes are less tight and no less valid."""


class Move(NamedTuple):
    """A step of v = (cash, costs, promises, 1, η): v′ = keep v + cost · bought, by the outcomes of chance."""

    chance: Float[Array, "... n"]
    keep: Float[Array, "... n E E"]
    bought: Float[Array, "... n E"]


class Game(NamedTuple):
    """The relaxed portfolio: its moves by rate, the rates outcomes lead to, and what `LinearModel` has."""

    move: Move
    leads: Int[Array, "2 n"]
    base: Float[Array, " E"]
    wealth: Float[Array, " E"]
    rates: Float[Array, " 2"]
    first: Float[Array, " E"]
    rounding: float


class Pool(NamedTuple):
    """Planes by step and rate, and the last round in which each was the lowest somewhere."""

    planes: Float[Array, "horizon 2 N E"]
    used: Int[Array, "horizon 2 N"]


class Touch(NamedTuple):
    """The planes that are lowest at x, one per outcome, and the slope and height there of their mean."""

    x: Float[Array, ""]
    planes: Int[Array, " n"]
    slope: Float[Array, ""]
    height: Float[Array, ""]


def tangents(game: Game, aversion: Array, gaps: Float[Array, " k"]) -> Float[Array, "k E"]:
    """Planes above R − λ (R − η)², which touch it where R − η is a gap."""
    price, unit = 2 * aversion * gaps, jnp.eye(len(game.first))
    constant = jnp.outer(aversion * gaps**2, unit[-2])
    exact = jnp.outer(1 - price, game.wealth) + jnp.outer(price, unit[-1]) + constant
    size = jnp.outer(1 + jnp.abs(price), game.wealth) + jnp.outer(jnp.abs(price), unit[-1]) + constant
    return exact + game.rounding * size


def solve_at(
    game: Game, ahead: Float[Array, "2 N E"], point: Float[Array, " E"]
) -> tuple[Array, Array, Array]:
    """At each rate, the best cost and a plane that is tight at the point; which planes ahead were lowest."""
    wish, cash = game.base @ point, point[0]
    limit = jnp.where(wish <= cash, game.base, jnp.eye(len(point))[0])

    def at(move: Move, leads: Int[Array, " n"]) -> tuple[Array, Array, Array]:
        lines, rows = ahead[leads], jnp.arange(len(leads))
        heights = jnp.einsum("nje,ne->nj", lines, move.keep @ point)
        slopes = jnp.einsum("nje,ne->nj", lines, move.bought)
        left, right, share = _peak(move.chance, heights, slopes, jnp.minimum(wish, cash))
        mixed = share * lines[rows, left.planes] + (1 - share) * lines[rows, right.planes]
        lowest = jnp.zeros(ahead.shape[:2], bool).at[leads, left.planes].set(True)
        lowest = lowest.at[leads, right.planes].set(True)
        return _crossing(left, right), plane(move, mixed[:, None], limit, game.rounding)[0], lowest

    costs, planes, lowest = jax.vmap(at)(game.move, game.leads)
    return costs, planes, jnp.any(lowest, axis=0)


def plane(
    move: Move, ahead: Float[Array, "n k E"], limit: Float[Array, " E"], rounding: float
) -> Float[Array, "k E"]:
    """A plane above Σ_n p_n c_n · (keep_n v + x bought_n) for 0 ≤ x ≤ limit · v, for each of k mixes c."""
    chance, keep, bought = move
    slope = jnp.einsum("n,ne,nke->k", chance, bought, ahead)
    size = jnp.einsum("n,ne,nke->k", chance, jnp.abs(bought), jnp.abs(ahead))
    gain = jnp.outer(jnp.maximum(slope + rounding * size, 0), limit)
    found = jnp.einsum("n,nef,nke->kf", chance, keep, ahead) + gain
    return found + rounding * (jnp.einsum("n,nef,nke->kf", chance, jnp.abs(keep), jnp.abs(ahead)) + gain)


def summit(game: Game, planes: Float[Array, "2 N E"], highest: Array) -> tuple[Array, Array, Array]:
    """The best η, what no policy exceeds, and which planes of the first step were lowest."""
    left, right, share = _peak(game.rates, planes @ game.first, planes[:, :, -1], highest)
    rows = jnp.arange(2)
    mixed = share * planes[rows, left.planes] + (1 - share) * planes[rows, right.planes]
    slope, height = game.rates @ mixed[:, -1], game.rates @ (mixed @ game.first)
    size = game.rates @ (jnp.abs(mixed) @ game.first.at[-1].set(highest))
    lowest = (
        jnp.zeros(planes.shape[:2], bool).at[rows, left.planes].set(True).at[rows, right.planes].set(True)
    )
    return _crossing(left, right), height + jnp.maximum(slope, 0) * highest + 4 * game.rounding * size, lowest


def _peak(
    chance: Float[Array, " n"], heights: Float[Array, "n N"], slopes: Float[Array, "n N"], most: Array
) -> tuple[Touch, Touch, Array]:
    """Where Σ_n p_n min_j (height + slope x) peaks on [0, most]: the lines left and right of it.

    Also the share of the left ones for which the slope of the mix is zero.
    """

    def touch(x: Array) -> Touch:
        planes = jnp.argmin(heights + slopes * x, axis=1)
        slope = chance @ slopes[jnp.arange(len(planes)), planes]
        return Touch(x, planes, slope, chance @ heights[jnp.arange(len(planes)), planes] + slope * x)

    def narrow(_: int, ends: tuple[Touch, Touch]) -> tuple[Touch, Touch]:
        middle = touch(_crossing(*ends))
        return _either(middle.slope > 0, middle, ends[0]), _either(middle.slope > 0, ends[1], middle)

    low, high = touch(jnp.zeros_like(most)), touch(most)
    left = _either(high.slope >= 0, high, low)
    right = _either(low.slope <= 0, left, high)
    left, right = jax.lax.fori_loop(0, SECANTS, narrow, (left, right))
    apart = left.slope - right.slope
    share = jnp.where(apart > 0, jnp.clip(-right.slope / jnp.where(apart > 0, apart, 1), 0, 1), 1)
    return left, right, share


def _crossing(left: Touch, right: Touch) -> Array:
    """Where the two lines meet."""
    apart = left.slope - right.slope
    rise = right.height - left.height + left.slope * left.x - right.slope * right.x
    return jnp.where(apart > 0, jnp.clip(rise / jnp.where(apart > 0, apart, 1), left.x, right.x), left.x)


def _either(first: Array, one: Touch, other: Touch) -> Touch:
    return Touch(*(jnp.where(first, a, b) for a, b in zip(one, other, strict=True)))


def replaced(pool: Pool, new: Float[Array, "2 m E"], count: Array) -> Pool:
    """A step's pool with new planes in the place of those not used for longest."""
    _, slots = jax.lax.top_k(-pool.used, new.shape[1])
    rates = jnp.arange(2)[:, None]
    return Pool(pool.planes.at[rates, slots].set(new), pool.used.at[rates, slots].set(count))
