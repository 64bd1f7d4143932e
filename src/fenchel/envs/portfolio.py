"""Portfolio management: liquid cash against purchases that mature later and may default."""

from typing import Any, ClassVar, NamedTuple, final

import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Box, Discrete
from jaxtyping import Array, Bool, Float, Int

from fenchel.envs.base import AbstractUniformEnvironment, Outcomes, TimeStep, coins
from fenchel.envs.parameters import parameter, require_plain_numbers
from fenchel.envs.spaces import float_box
from fenchel.errors import (
    require,
    require_choice,
    require_count,
    require_nonnegative,
    require_positive,
    require_probability,
)

INVEST_BASES = ("wealth", "cash", "initial")
RATE_MOMENTS = ("purchase", "maturity")
START_RATES = ("low", "high")
REWARDS = ("growth", "money", "log")

RUIN = 1e-6
"""Share of the start-up cash below which logarithms and fractions count wealth as if it were this much."""

SLACK = 1e-5
"""Relative excess over the liquid cash that is taken for rounding: the purchase takes all the cash."""


class PortfolioState(NamedTuple):
    """What the investor faces when acting, in units of the start-up cash.

    `costs` and `promises` are ordered by time to maturity, which is 1, …, maturity − 1 at that moment.
    """

    step: Int[Array, ""]
    high: Bool[Array, ""]
    cash: Float[Array, ""]
    costs: Float[Array, " pending"]
    promises: Float[Array, " pending"]


@final
class Portfolio(AbstractUniformEnvironment):
    """Each step, move a fixed share into the non-liquid asset (action 1), or do nothing (action 0).

    In a step the rate may switch, liquid cash earns interest, the purchase made `maturity` steps ago pays or
    defaults, and then the investor acts; `reset` plays the first three of step 1 and every call of `step`
    those that follow the action. A wish to invest more than the liquid cash is skipped. Wealth is liquid
    cash plus the cost of every holding not yet due, and final wealth is that of step `horizon`.

    The observation is [liquid fraction, fractions by time to maturity 1, …, W, rate minus its mean], where
    the mean is that of the chain at rest. The investor acts before buying, so the W-th fraction is always 0.

    Arguments:
        liquid_rate: gross rate of the liquid cash per step.
        rate_low: gross rate of a purchase in the low state, paid once, at maturity.
        rate_high: the same in the high state.
        switch_probability: probability per step that the rate switches.
        start_rate: the rate before step 1, "low" or "high".
        default_probability: probability that a due purchase pays nothing.
        maturity: steps from purchase to payment, W.
        invest_fraction: share η that a purchase costs.
        invest_base: what η is a share of: all "wealth", the liquid "cash", or the "initial" cash.
        rate_fixed: whose step sets the rate that a purchase pays: its "purchase" or its "maturity".
        reward: "growth" adds up to final wealth over start-up cash (the first reward holds the wealth the
            investor first acts with, the others are differences), "money" to final wealth, "log" to the
            logarithm of final wealth over start-up cash.
        startup_cash: liquid cash at the start; it cancels in every reward but "money".
        horizon: number of steps.
        discount: factor per step on the rewards; below 1 they no longer add up to final wealth.

    Example:
        >>> import jax.numpy as jnp
        >>> from fenchel.envs import Portfolio
        >>> portfolio = Portfolio(horizon=1)
        >>> state, observation = portfolio.reset(jnp.ones(2))
        >>> _, seen = portfolio.step(jnp.ones(2), state, jnp.asarray(0))
        >>> round(float(seen.reward), 6)
        1.001
    """

    PRESETS: ClassVar[dict[str, dict[str, Any]]] = {"liu2018": {}}
    noise_size: ClassVar[int] = 2

    liquid_rate: float = parameter(1.001, "gross rate of liquid cash per step")
    rate_low: float = parameter(1.1, "gross rate of a purchase in the low state")
    rate_high: float = parameter(2.0, "gross rate of a purchase in the high state")
    switch_probability: float = parameter(0.1, "probability per step that the rate switches")
    start_rate: str = parameter("low", "rate before the first step: low or high")
    default_probability: float = parameter(0.05, "probability that a due purchase pays nothing")
    maturity: int = parameter(4, "steps from purchase to payment")
    invest_fraction: float = parameter(0.2, "share that a purchase costs")
    invest_base: str = parameter("wealth", "what it is a share of: wealth, cash or initial")
    rate_fixed: str = parameter("purchase", "the step whose rate is paid: purchase or maturity")
    reward: str = parameter("growth", "what rewards add up to: growth, money or log")
    startup_cash: float = parameter(100_000.0, "liquid cash at the start")
    horizon: int = parameter(50, "number of steps")
    discount: float = parameter(1.0, "factor per step")

    def __check_init__(self) -> None:
        require_plain_numbers(self)
        require_count("maturity", self.maturity)
        require_count("horizon", self.horizon)
        for name in ("liquid_rate", "invest_fraction", "startup_cash", "discount"):
            require_positive(name, getattr(self, name))
        for name in ("switch_probability", "default_probability"):
            require_probability(name, getattr(self, name))
        require(self.invest_fraction <= 1, "invest_fraction", self.invest_fraction, "must be at most 1")
        require(self.discount <= 1, "discount", self.discount, "must be at most 1")
        require_nonnegative("rate_low", self.rate_low)
        require_nonnegative("rate_high", self.rate_high)
        ordered = self.rate_low <= self.rate_high
        require(ordered, "rate_low", self.rate_low, f"must be at most rate_high = {self.rate_high}")
        require_choice("start_rate", self.start_rate, START_RATES)
        require_choice("invest_base", self.invest_base, INVEST_BASES)
        require_choice("rate_fixed", self.rate_fixed, RATE_MOMENTS)
        require_choice("reward", self.reward, REWARDS)

    @property
    def action_space(self) -> Discrete:
        """0 does nothing, 1 invests."""
        return Discrete(2)

    @property
    def observation_space(self) -> Box:
        """Fractions in [0, 1], and the two deviations of the rate."""
        swing = (self.rate_high - self.rate_low) / 2
        return float_box([0.0] * (self.maturity + 1) + [-swing], [1.0] * (self.maturity + 1) + [swing])

    @property
    def state_count(self) -> int:
        """Two rates in each step."""
        return 2 * self.horizon

    def index(self, state: PortfolioState) -> Int[Array, ""]:
        """2(step − 1) + (rate is high): a number that shows step and rate only, not the holdings."""
        return 2 * jnp.minimum(state.step, self.horizon - 1) + state.high.astype(jnp.int32)

    def outcomes(self) -> Outcomes:
        """Whether the rate switches, and whether what is due defaults."""
        switch, default = self.switch_probability, self.default_probability
        noise = [[s, d] for s in (switch / 2, (1 + switch) / 2) for d in (default / 2, (1 + default) / 2)]
        chances = [s * d for s in (switch, 1 - switch) for d in (default, 1 - default)]
        return coins(np.array(noise), np.array(chances))

    def first_outcomes(self, points: int = 1) -> Outcomes:
        """Whether the rate switches before step 1."""
        switch = self.switch_probability
        return coins(np.array([[switch / 2, 0], [(1 + switch) / 2, 0]]), np.array([switch, 1 - switch]))

    def reset(self, noise: Float[Array, "2"]) -> tuple[PortfolioState, Float[Array, " size"]]:
        """All cash, after the market of step 1."""
        none = jnp.zeros(self.maturity - 1)
        high = (noise[0] < self.switch_probability) ^ (self.start_rate == "high")
        cash = jnp.full((), self.liquid_rate, none.dtype)
        state = PortfolioState(jnp.zeros((), jnp.int32), high, cash, none, none)
        return state, self._observe(state)

    def step(
        self, noise: Float[Array, "2"], state: PortfolioState, action: Int[Array, ""]
    ) -> tuple[PortfolioState, TimeStep]:
        """The investor acts, then the market of the next step moves; none follows the last action."""
        cost = self._cost(state, action)
        after = self._market(noise, state, cost)
        last = after.step >= self.horizon
        reward = self._earned(state, after, last)
        return after, TimeStep(self._observe(after), reward, last, jnp.zeros((), bool))

    def _cost(self, state: PortfolioState, action: Int[Array, ""]) -> Float[Array, ""]:
        """What is invested: the wish if there is cash for it, else nothing."""
        wish = self.invest_fraction * self._base(state)
        granted = (jnp.asarray(action) == 1) & (wish <= state.cash * (1 + SLACK))
        return jnp.where(granted, jnp.minimum(wish, state.cash), 0)

    def _base(self, state: PortfolioState) -> Float[Array, ""]:
        if self.invest_base == "initial":
            return jnp.ones_like(state.cash)
        return state.cash if self.invest_base == "cash" else _wealth(state)

    def _market(
        self, noise: Float[Array, "2"], state: PortfolioState, cost: Float[Array, ""]
    ) -> PortfolioState:
        high = (noise[0] < self.switch_probability) ^ state.high
        known = self.rate_fixed == "purchase"
        costs = jnp.append(state.costs, cost)
        promises = jnp.append(state.promises, cost * self._rate(state.high) if known else cost)
        due = promises[0] if known else promises[0] * self._rate(high)
        paid = jnp.where(noise[1] < self.default_probability, 0, due)
        cash = (state.cash - cost) * self.liquid_rate + paid
        return PortfolioState(state.step + 1, high, cash, costs[1:], promises[1:])

    def _rate(self, high: Bool[Array, ""]) -> Float[Array, ""]:
        return jnp.where(high, self.rate_high, self.rate_low)

    def _earned(
        self, state: PortfolioState, after: PortfolioState, last: Bool[Array, ""]
    ) -> Float[Array, ""]:
        """Change of the counted wealth; before the first step it counts as 0."""
        before = self._counted(_wealth(state))
        return jnp.where(last, before, self._counted(_wealth(after))) - jnp.where(state.step == 0, 0, before)

    def _counted(self, wealth: Float[Array, ""]) -> Float[Array, ""]:
        if self.reward == "log":
            return jnp.log(jnp.maximum(wealth, RUIN))
        return wealth * self.startup_cash if self.reward == "money" else wealth

    def _observe(self, state: PortfolioState) -> Float[Array, " size"]:
        wealth = jnp.maximum(_wealth(state), RUIN)
        fractions = jnp.append(state.cash, state.costs) / wealth
        swing = (self.rate_high - self.rate_low) / 2
        deviation = jnp.where(state.high, swing, -swing).astype(wealth.dtype)
        return jnp.concatenate([fractions, jnp.zeros(1), deviation[None]])


def _wealth(state: PortfolioState) -> Float[Array, ""]:
    return state.cash + jnp.sum(state.costs)
