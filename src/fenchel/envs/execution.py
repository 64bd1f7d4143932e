"""Optimal execution: selling a large holding whose sale moves the price."""

import math
from typing import Any, ClassVar, NamedTuple, final

import equinox as eqx
import jax.numpy as jnp
from gymnasium.spaces import Box
from jaxtyping import Array, Float, Int, Key

from fenchel.envs.base import AbstractEnvironment, TimeStep
from fenchel.envs.markets import mirrored
from fenchel.envs.parameters import parameter, require_plain_numbers
from fenchel.envs.spaces import float_box
from fenchel.errors import require, require_count, require_nonnegative, require_positive, require_switch
from fenchel.noise import normals

GRID = (0.3, 0.6, 1.2, 2.4, 4.0, 7.0, 10.0)
"""κT of the risk aversions of a frontier: from sales that are nearly even to most of it at once."""


class ExecutionState(NamedTuple):
    """Shares left and earned so far: minus the cost up to now, what is left counted at its price."""

    step: Int[Array, ""]
    left: Float[Array, ""]
    earned: Float[Array, ""]


@final
class Execution(AbstractEnvironment):
    """Sell a holding in some trades (Almgren & Chriss 2000); the return is minus the shortfall.

    The action is the share of what is left that is sold; the last trade sells all. A trade of n shares that
    leaves x earns x (σ √τ ξ − γ n) − n (ε + η n / τ), with ξ standard normal: the price moves what is left,
    the permanent impact lowers it for good, and the trade pays half the spread and the temporary impact.

    The observation is [share of the holding left, step]: no chance shows in it, so policies are schedules,
    the best of which is known (`fenchel.exact.almgren_chriss`). With `adaptive`, what was earned so far, in
    standard deviations of holding all, is shown as well, and policies may be better than any schedule.

    Arguments:
        horizon: number of trades.
        shares: what is to be sold, X.
        volatility: of the price, in money per share and √time, σ.
        period: time between trades, τ.
        temporary: impact on the price of a trade, per share and time, η.
        permanent: impact on all later prices, per share, γ.
        half_spread: ε.
        adaptive: whether earnings so far are shown.

    Example:
        >>> import jax.numpy as jnp
        >>> env = Execution(horizon=1)
        >>> state, _ = env.reset(jnp.zeros(1))
        >>> _, seen = env.step(jnp.zeros(1), state, jnp.ones(1))
        >>> float(seen.reward)  # −X (ε + η X)
        -2562500.0
    """

    PRESETS: ClassVar[dict[str, dict[str, Any]]] = {"almgren-chriss2000": {}}

    horizon: int = parameter(5, "number of trades")
    shares: float = parameter(1e6, "shares to be sold")
    volatility: float = parameter(0.95, "of the price, in money per share and root of time")
    period: float = parameter(1.0, "time between trades")
    temporary: float = parameter(2.5e-6, "temporary impact on the price, per share and time")
    permanent: float = parameter(2.5e-7, "permanent impact on the price, per share")
    half_spread: float = parameter(0.0625, "half the spread between bid and ask")
    adaptive: bool = parameter(False, "also show what was earned so far")
    discount: float = eqx.field(static=True, default=1.0)

    def __check_init__(self) -> None:
        require_plain_numbers(self)
        require_count("horizon", self.horizon)
        require(self.discount == 1, "discount", self.discount, "must be 1: money of any date counts alike")
        for name in ("shares", "volatility", "period", "temporary"):
            require_positive(name, getattr(self, name))
        for name in ("permanent", "half_spread"):
            require_nonnegative(name, getattr(self, name))
        require_switch("adaptive", self.adaptive)
        most = 2 * self.temporary / self.period
        remedy = f"must be below 2 temporary / period = {most:.6g}: else selling at once would cost least"
        require(self.permanent < most, "permanent", self.permanent, remedy)

    @property
    def action_space(self) -> Box:
        """A share."""
        return float_box([0.0], [1.0])

    @property
    def observation_space(self) -> Box:
        """The share left, earnings where they are shown, and the step."""
        any_sum = [math.inf] if self.adaptive else []
        return float_box([0.0, *(-x for x in any_sum), 0.0], [1.0, *any_sum, self.horizon])

    @property
    def differentiable(self) -> bool:
        """In the shares sold."""
        return True

    @property
    def observation_tells_all(self) -> bool:
        """For schedules, or with what was earned, for all policies."""
        return True

    @property
    def risk_grid(self) -> tuple[float, ...]:
        """λ = (η − γτ/2) κ²/σ² for times 1/κ of a sale from three horizons to a tenth of one."""
        impact = self.temporary - self.permanent * self.period / 2
        length = self.horizon * self.period
        return tuple(float(f"{impact * (x / length / self.volatility) ** 2:.2g}") for x in GRID)

    def draw(self, key: Key[Array, ""], shape: tuple[int, ...]) -> Float[Array, "... 1"]:
        """A standard normal."""
        return normals(key, (*shape, 1))

    def spread(self, key: Key[Array, ""], shape: tuple[int, ...]) -> Float[Array, "... 1"]:
        """Pairs of opposites along the last axis, of covariance one."""
        half = shape[-1] // 2
        return mirrored(self.draw(key, (*shape[:-1], shape[-1] - half)), half)

    def reset(self, noise: Float[Array, "1"]) -> tuple[ExecutionState, Float[Array, " size"]]:
        """All is left."""
        one = jnp.ones((), noise.dtype)
        state = ExecutionState(jnp.zeros((), jnp.int32), one, jnp.zeros_like(one))
        return state, self._observe(state)

    def step(
        self, noise: Float[Array, "1"], state: ExecutionState, action: Float[Array, "1"]
    ) -> tuple[ExecutionState, TimeStep]:
        """A trade, and the move of the price that follows it."""
        last = state.step + 1 >= self.horizon
        share = jnp.where(last, 1, jnp.clip(action[0], 0, 1))
        sold = share * state.left
        left = state.left - sold
        trade = self.shares * sold
        moved = self.volatility * self.period**0.5 * noise[0] - self.permanent * trade
        paid = self.half_spread + self.temporary / self.period * trade
        reward = self.shares * left * moved - trade * paid
        after = ExecutionState(state.step + 1, left, state.earned + reward)
        return after, TimeStep(self._observe(after), reward, last, jnp.zeros((), bool))

    def _observe(self, state: ExecutionState) -> Float[Array, " size"]:
        typical = self.shares * self.volatility * (self.horizon * self.period) ** 0.5
        earned = [state.earned / typical] if self.adaptive else []
        return jnp.stack([state.left, *earned, state.step.astype(state.left.dtype)])
