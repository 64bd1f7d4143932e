"""Allocation: wealth among some risky assets and cash, over several dates."""

from typing import Any, ClassVar, NamedTuple, final

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Box
from jaxtyping import Array, Float, Int, Key

from fenchel.envs.base import AbstractEnvironment, TimeStep
from fenchel.envs.limits import project
from fenchel.envs.markets import BootstrapMarket, GaussianMarket
from fenchel.envs.parameters import parameter, require_plain_numbers
from fenchel.envs.spaces import float_box
from fenchel.errors import require, require_count, require_nonnegative, require_number, require_positive


class AllocationState(NamedTuple):
    """What the investor faces when acting: holdings are worth what the last period made of them."""

    step: Int[Array, ""]
    wealth: Float[Array, ""]
    holdings: Float[Array, " assets"]
    place: Int[Array, ""]


def _floats(values: Any) -> tuple[float, ...]:
    """Numbers of any nesting, row by row."""
    return tuple(np.asarray(values, float).ravel().tolist())


@final
class Allocation(AbstractEnvironment):
    """At each date choose the amounts held in risky assets until the next one; the rest of wealth is cash.

    With amounts u, gross asset returns e and cash at the gross rate f, wealth x becomes
    f (x − costs) + Σ_i u_i (e_i − f). The return of an episode is final wealth. Without limits and costs, and
    with returns that are independent over time, the best policies are known (Li & Ng 2000): they are
    `fenchel.exact.li_ng`.

    The observation is [gain, step], or [gain, holdings, step] where trades cost something: the gain is wealth
    less what the start wealth would be in cash.

    Arguments:
        horizon: dates at which amounts are chosen.
        riskless: gross rate of cash per period, f.
        mean: expected gross returns of the assets per period; without a table.
        covariance: of these returns, row by row; without a table.
        start_wealth: wealth at the first date.
        cost: share of the amount traded that a trade costs; what is held in the end is not sold.
        leverage: the most Σ|u_i| may be, in wealths; None for no limit.
        short: the most a single amount may be short, in wealths; None for no limit, 0 for none short.
        block: mean length of the blocks of rows in which a table is drawn from.
        table: gross returns, a row per period, instead of a normal law.

    Example:
        >>> import jax.numpy as jnp
        >>> env = Allocation(horizon=1, leverage=1.0)
        >>> state, observation = env.reset(jnp.zeros(3))
        >>> _, seen = env.step(jnp.zeros(3), state, jnp.array([0.0, 2.0, 0.0]))
        >>> round(float(seen.reward), 6)  # the second asset's mean, as all wealth may be held and no more
        1.246
    """

    PRESETS: ClassVar[dict[str, dict[str, Any]]] = {"li-ng2000": {}}

    horizon: int = parameter(4, "number of dates")
    riskless: float = parameter(1.04, "gross rate of cash per period")
    mean: tuple[float, ...] = eqx.field(
        static=True,
        converter=_floats,
        default=(1.162, 1.246, 1.228),
        metadata={"help": "expected gross returns of the assets"},
    )
    covariance: tuple[float, ...] = eqx.field(
        static=True,
        converter=_floats,
        default=(0.0146, 0.0187, 0.0145, 0.0187, 0.0854, 0.0104, 0.0145, 0.0104, 0.0289),
        metadata={"help": "covariance of these returns, row by row"},
    )
    start_wealth: float = parameter(1.0, "wealth at the first date")
    cost: float = parameter(0.0, "share of the amount traded that a trade costs")
    leverage: float | None = parameter(None, "most amounts held, long and short together, in wealths")
    short: float | None = parameter(None, "most amount short in an asset, in wealths; 0 for none")
    block: float = parameter(1.0, "mean length of blocks of rows drawn from a table")
    table: Float[Array, "rows assets"] | None = None
    discount: float = eqx.field(static=True, default=1.0)

    def __check_init__(self) -> None:
        require_plain_numbers(self)
        require_count("horizon", self.horizon)
        require(self.discount == 1, "discount", self.discount, "must be 1: there is one reward, at the end")
        for name in ("riskless", "start_wealth"):
            require_positive(name, getattr(self, name))
        require_nonnegative("cost", self.cost)
        require(self.cost < 1, "cost", self.cost, "is a share, and must be below 1")
        for name in ("leverage", "short"):
            if getattr(self, name) is not None:
                require_nonnegative(name, getattr(self, name))
        require(require_number("block", self.block) >= 1, "block", self.block, "must be at least 1, a row")
        if self.table is None:
            require(self.block == 1, "block", self.block, "goes with data; a normal law has no blocks")
            self.market  # noqa: B018 - mean and covariance are checked where they are used
        else:
            shape = jnp.shape(self.table)
            require(len(shape) == 2 and min(shape) > 0, "table.shape", shape, "must be (periods, assets)")

    @property
    def market(self) -> GaussianMarket | BootstrapMarket:
        """Where returns come from."""
        if self.table is None:
            return GaussianMarket(self.mean, self.covariance)
        return BootstrapMarket(self.table, self.block)

    @property
    def assets(self) -> int:
        """How many risky assets there are."""
        return self.market.assets

    @property
    def action_space(self) -> Box:
        """An amount per asset."""
        return float_box([-np.inf] * self.assets, [np.inf] * self.assets)

    @property
    def observation_space(self) -> Box:
        """The gain, holdings where they matter, and the step."""
        size = 1 + (self.assets if self.cost > 0 else 0)
        return float_box([-np.inf] * size + [0], [np.inf] * size + [self.horizon])

    @property
    def differentiable(self) -> bool:
        """In the amounts."""
        return True

    @property
    def multilinear(self) -> bool:
        """Wealth is affine in the amounts of each date."""
        return True

    @property
    def observation_tells_all(self) -> bool:
        """Rows of a block drawn before, which might tell the next, are not shown."""
        return True

    @property
    def first_action(self) -> tuple[float, ...]:
        """The same amount in each asset and in cash, within the leverage that is allowed."""
        held = self.assets / (self.assets + 1)
        share = min(held, self.leverage / 2) if self.leverage is not None else held
        return (self.start_wealth * share / self.assets,) * self.assets

    def draw(self, key: Key[Array, ""], shape: tuple[int, ...]) -> Float[Array, "... noise"]:
        """That of the market."""
        return self.market.draw(key, shape)

    def spread(self, key: Key[Array, ""], shape: tuple[int, ...]) -> Float[Array, "... noise"]:
        """That of the market."""
        return self.market.spread(key, shape)

    def reset(self, noise: Float[Array, " noise"]) -> tuple[AllocationState, Float[Array, " size"]]:
        """All cash."""
        wealth = jnp.full((), self.start_wealth, noise.dtype)
        holdings = jnp.zeros(self.assets, noise.dtype)
        state = AllocationState(jnp.zeros((), jnp.int32), wealth, holdings, self.market.start(noise))
        return state, self.observe(state)

    def step(
        self, noise: Float[Array, " noise"], state: AllocationState, action: Float[Array, " assets"]
    ) -> tuple[AllocationState, TimeStep]:
        """Trade to the allowed amounts nearest to those wanted, then the market moves."""
        amounts = self.allowed(action, state.wealth)
        place, gross = self.market.move(noise, state.place)
        after = self.earn(state, amounts, gross)._replace(place=place)
        last = after.step >= self.horizon
        reward = jnp.where(last, after.wealth, 0)
        return after, TimeStep(self.observe(after), reward, last, jnp.zeros((), bool))

    def allowed(self, wanted: Float[Array, " assets"], wealth: Float[Array, ""]) -> Float[Array, " assets"]:
        """The amounts nearest to those wanted that keep the limits; nothing is held with wealth below 0."""
        if self.leverage is None and self.short is None:
            return wanted
        owned = jnp.maximum(wealth, 0)
        budget, short = (None if x is None else x * owned for x in (self.leverage, self.short))
        return project(wanted, budget, short)

    def earn(
        self, state: AllocationState, amounts: Float[Array, " assets"], gross: Float[Array, " assets"]
    ) -> AllocationState:
        """The state a period later."""
        paid = self.cost * jnp.sum(jnp.abs(amounts - state.holdings)) if self.cost > 0 else 0.0
        wealth = self.riskless * (state.wealth - paid) + jnp.sum(amounts * (gross - self.riskless))
        return AllocationState(state.step + 1, wealth, amounts * gross, state.place)

    def observe(self, state: AllocationState) -> Float[Array, " size"]:
        """What the policy sees of a state."""
        cash = self.start_wealth * self.riskless ** state.step.astype(state.wealth.dtype)
        gain, step = (state.wealth - cash)[None], state.step.astype(state.wealth.dtype)[None]
        held = [state.holdings] if self.cost > 0 else []
        return jnp.concatenate([gain, *held, step])
