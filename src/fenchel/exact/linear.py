"""Exact moments of the portfolio: its dynamics are linear, given the actions, the rates and the defaults."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from fenchel.envs.portfolio import Portfolio, PortfolioState, _wealth


class Moments(NamedTuple):
    """E[R] and E[R²] of the return."""

    mean: Float[Array, "..."]
    second: Float[Array, "..."]

    @property
    def variance(self) -> Float[Array, "..."]:
        """E[R²] − E[R]²."""
        with jax.enable_x64(True):
            return jnp.maximum(self.second - self.mean**2, 0)

    @property
    def std(self) -> Float[Array, "..."]:
        """The standard deviation of a single episode; its derivative at 0 is not finite."""
        with jax.enable_x64(True):
            return jnp.sqrt(self.variance)


class LinearModel(NamedTuple):
    """The portfolio on z = (cash, costs, promises, 1), in which z′ = keep z + cost · bought.

    Axes are the rate (low, high) before the step and the outcomes of chance in it.
    """

    keep: Float[Array, "2 n D D"]
    """z′ of z when nothing is bought."""
    bought: Float[Array, "2 n D"]
    """What z′ gains by a purchase of 1, loss of cash included."""
    arrive: Float[Array, "2 n 2"]
    """Probability of the outcome, under the rate it leads to."""
    start: Float[Array, "2 D"]
    """E[z; rate] when the investor acts first; z itself is sure then."""
    base: Float[Array, " D"]
    """The cost of a purchase, of z."""
    wealth: Float[Array, " D"]
    """What the return counts, of z."""


def moments(env: Portfolio, chances: Float[Array, "horizon 2"]) -> Moments:
    """E[R] and E[R²] when step k invests with probability `chances[k, rate]`, in double precision.

    E[z zᵀ; rate] is carried forward. Cash that is lacking is borrowed at the liquid rate; where `shortages`
    finds none, none is. Both moments are linear in each row of `chances`, whatever the others are, so that
    `jax.grad` (in 64-bit mode) gives exactly what another row is worth.

    Arguments:
        env: a portfolio whose return is linear in its final wealth.
        chances: probability of investing in each step, at the low and at the high rate.
    """
    with jax.enable_x64(True):
        return moments_of(linear_model(env), chances)


def moments_of(model: LinearModel, chances: Float[Array, "horizon 2"]) -> Moments:
    """The same for a model read off before. The return is the wealth that the last action finds."""

    def advance(square: Array, chance: Array) -> tuple[Array, None]:
        cost = square @ model.base
        kept = jnp.einsum("rnij,rjk,rnlk->rnil", model.keep, square, model.keep)
        mixed = jnp.einsum("rni,rnjk,rk->rnij", model.bought, model.keep, chance[:, None] * cost)
        spent = jnp.einsum("r,rni,rnj->rnij", chance * (cost @ model.base), model.bought, model.bought)
        moved = kept + mixed + jnp.swapaxes(mixed, 2, 3) + spent
        return jnp.einsum("rnij,rns->sij", moved, model.arrive), None

    last, _ = jax.lax.scan(advance, _first(model), jnp.asarray(chances, jnp.float64)[:-1])
    total = jnp.sum(last, axis=0) @ model.wealth
    return Moments(total[-1], total @ model.wealth)


def rounding(model: LinearModel, chances: Float[Array, "horizon 2"]) -> Moments:
    """What rounding can have changed the moments by.

    A step rounds each of its numbers by at most `unit` times the sum of its terms without their signs,
    and what it finds wrong it passes on by its maps without theirs.
    """
    change = jnp.einsum("rni,j->rnij", model.bought, model.base)
    plain, spent, merged = jnp.abs(model.keep), jnp.abs(change), jnp.abs(model.keep + change)
    unit = 4 * (plain.shape[1] + 2 * plain.shape[2] + 4) * float(np.finfo(float).eps)

    def carried(maps: Array, square: Array) -> Array:
        moved = jnp.einsum("rnij,rjk,rnlk->rnil", maps, square, maps)
        return jnp.einsum("rnij,rns->sij", moved, model.arrive)

    def advance(carry: tuple[Array, Array], chance: Array) -> tuple[tuple[Array, Array], None]:
        square, wrong = carry
        share = chance[:, None, None]
        fresh = carried(plain + spent, square)
        passed = carried(plain, (1 - share) * wrong) + carried(merged, share * wrong)
        signed = carried(model.keep, (1 - share) * square)
        signed += carried(model.keep + change, share * square)
        return (signed, passed + unit * fresh), None

    first = _first(model)
    start = first, unit * first
    (_, wrong), _ = jax.lax.scan(advance, start, jnp.asarray(chances, jnp.float64)[:-1])
    total = jnp.sum(wrong, axis=0) @ model.wealth
    return Moments(total[-1], total @ model.wealth)


def _first(model: LinearModel) -> Float[Array, "2 D D"]:
    """E[z zᵀ; rate] at the first action, where z is sure."""
    return jnp.einsum("ri,j->rij", model.start, jnp.sum(model.start, axis=0))


def linear_model(env: Portfolio) -> LinearModel:
    """Read off the environment's own dynamics: each map is a Jacobian and what is left at zero."""
    with jax.enable_x64(True):
        return _linear_model(env)


@eqx.filter_jit
def _linear_model(env: Portfolio) -> LinearModel:
    world, nothing = env.outcomes(), jnp.zeros(())
    zero, rates = jnp.zeros(2 * env.maturity - 1), jnp.array([False, True])

    def market(noise: Any, high: Any, z: Any, cost: Any) -> Any:
        return _pack(env._market(noise, _unpack(z, high), cost))

    def over(function: Any) -> Any:
        each = jax.vmap(jax.vmap(function, (0, None)), (None, 0))
        return each(jnp.asarray(world.noise), rates)

    keep = over(lambda noise, high: _affine(lambda z: market(noise, high, z, nothing), zero))
    bought = over(lambda noise, high: jax.jacfwd(lambda cost: market(noise, high, zero, cost))(nothing))
    highs = over(lambda noise, high: env._market(noise, _unpack(zero, high), nothing).high)
    scale = env.startup_cash if env.reward == "money" else 1.0
    return LinearModel(
        keep=keep.at[:, :, -1].set(jnp.eye(len(zero) + 1)[-1]),
        bought=bought.at[:, :, -1].set(0),
        arrive=jnp.asarray(world.probability)[None, :, None] * _one_hot(highs),
        start=_start(env),
        base=_affine(lambda z: env.invest_fraction * env._base(_unpack(z, rates[0])), zero),
        wealth=scale * _affine(lambda z: _wealth(_unpack(z, rates[0])), zero),
    )


def _start(env: Portfolio) -> Float[Array, "2 D"]:
    first = env.first_outcomes()
    states, _ = jax.vmap(env.reset)(jnp.asarray(first.noise))
    rates = jnp.asarray(first.probability)[:, None] * _one_hot(states.high)
    return rates.T @ jax.vmap(_pack)(states)


def _one_hot(high: Bool[Array, "..."]) -> Float[Array, "... 2"]:
    return jnp.stack([~high, high], axis=-1).astype(jnp.float64)


def _affine(function: Any, zero: Float[Array, " D-1"]) -> Float[Array, "... D"]:
    """The Jacobian, and a last column for what the function is at zero."""
    return jnp.append(jax.jacfwd(function)(zero), function(zero)[..., None], axis=-1)


def _pack(state: PortfolioState) -> Float[Array, " D"]:
    return jnp.concatenate([state.cash[None], state.costs, state.promises, jnp.ones(1)])


def _unpack(z: Float[Array, " D-1"], high: Bool[Array, ""]) -> PortfolioState:
    costs, promises = jnp.split(z[1:], 2)
    return PortfolioState(jnp.zeros((), jnp.int32), high, z[0], costs, promises)
