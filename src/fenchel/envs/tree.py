"""What the option and the stopping problem share: a price that moves by factors, and one chance to act."""

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Box, Discrete
from jaxtyping import Array, Bool, Float, Int

from fenchel.envs.base import AbstractUniformEnvironment, Outcomes, TimeStep, coins
from fenchel.envs.parameters import require_plain_numbers
from fenchel.envs.prices import require_prices_held
from fenchel.envs.spaces import float_box
from fenchel.errors import (
    InputError,
    require,
    require_count,
    require_nonnegative,
    require_positive,
    require_probability,
)


class TreeState(NamedTuple):
    """The price, the number of transitions so far, and how many of them went up."""

    price: Float[Array, ""]
    step: Int[Array, ""]
    ups: Int[Array, ""]


class AbstractPriceTree(AbstractUniformEnvironment):
    """x_{t+1} = up · x_t with probability p, else down · x_t; action 1 executes at x_t, action 0 waits.

    There are `horizon` decisions, at t = 0, …, horizon − 1. Waiting at the last one leads to maturity: its
    reward is part of the last step, discounted once more because it is paid one transition later.
    A fixed start gives a recombining tree, whose t(t + 1)/2 + ups numbers the decision states.
    """

    noise_size: ClassVar[int] = 1
    PRESETS: ClassVar[dict[str, dict[str, Any]]]

    start: eqx.AbstractVar[float]
    up: eqx.AbstractVar[float]
    down: eqx.AbstractVar[float]
    up_probability: eqx.AbstractVar[float]
    start_spread: eqx.AbstractVar[float]

    @abstractmethod
    def executed(self, price: Float[Array, ""]) -> Float[Array, ""]:
        """The reward for executing."""

    @abstractmethod
    def matured(self, price: Float[Array, ""]) -> Float[Array, ""]:
        """The reward at maturity, for who never executed."""

    @property
    @abstractmethod
    def waiting_reward(self) -> float:
        """The reward for waiting."""

    def __check_init__(self) -> None:
        require_plain_numbers(self)
        require_count("horizon", self.horizon)
        for name in ("start", "up", "down", "discount"):
            require_positive(name, getattr(self, name))
        require_probability("up_probability", self.up_probability)
        require_nonnegative("start_spread", self.start_spread)
        require(self.discount <= 1, "discount", self.discount, "must be at most 1")
        require(self.down < self.up, "up, down", (self.up, self.down), "a rise must be above a fall")
        below = self.start_spread < self.start
        require(below, "start_spread", self.start_spread, f"must be below start = {self.start}")
        require_prices_held(self.start, self.start_spread, self.up, self.down, self.horizon)

    @property
    def action_space(self) -> Discrete:
        """0 waits, 1 executes."""
        return Discrete(2)

    @property
    def observation_space(self) -> Box:
        """Price and number of transitions; the slack is what `horizon` roundings can add up to."""
        slack = (self.horizon + 2) * float(np.finfo(jnp.result_type(float)).eps)
        lowest = (self.start - self.start_spread) * min(1, self.down) ** self.horizon
        highest = (self.start + self.start_spread) * max(1, self.up) ** self.horizon
        return float_box([lowest * (1 - slack), 0], [highest * (1 + slack), self.horizon])

    @property
    def feature_grid(self) -> tuple[tuple[float, ...], ...]:
        """Eight prices up to 2.24 times the start and four times: the grid of `tamar2014`, in proportion."""
        prices = tuple(0.32 * i * self.start for i in range(8))
        return prices, tuple(0.3 * i * self.horizon for i in range(4))

    @property
    def state_count(self) -> int | None:
        """T(T + 1)/2 nodes of the tree; None when the start is spread over an interval."""
        return self.horizon * (self.horizon + 1) // 2 if self.start_spread == 0 else None

    @property
    def index_tells_all(self) -> bool:
        """Waiting always earns the same, so the step tells the reward so far."""
        return self.state_count is not None

    def index(self, state: TreeState) -> Int[Array, ""]:
        """t(t + 1)/2 + ups; a finished episode keeps a number of the last decision."""
        if self.start_spread != 0:
            raise InputError("start_spread", self.start_spread, "must be 0 for the prices to be countable")
        step = jnp.minimum(state.step, self.horizon - 1)
        return (step * (step + 1) >> 1) + jnp.minimum(state.ups, step)

    def outcomes(self) -> Outcomes:
        """A rise and a fall, each by a number in the middle of its slice of [0, 1)."""
        rise = self.up_probability
        return coins(np.array([[rise / 2], [(1 + rise) / 2]]), np.array([rise, 1 - rise]))

    def first_outcomes(self, points: int = 1) -> Outcomes:
        """The start; `points` equally likely ones, in the middle of slices of its interval, if it has one."""
        count = points if self.start_spread > 0 else 1
        return coins((np.arange(count)[:, None] + 0.5) / count, np.full(count, 1 / count))

    def reset(self, noise: Float[Array, "1"]) -> tuple[TreeState, Float[Array, "2"]]:
        """The start, uniform on start ± start_spread."""
        price = jnp.asarray(self.start + self.start_spread * (2 * noise[0] - 1), jnp.result_type(float))
        state = TreeState(price, jnp.zeros((), jnp.int32), jnp.zeros((), jnp.int32))
        return state, _observe(state)

    def step(
        self, noise: Float[Array, "1"], state: TreeState, action: Int[Array, ""]
    ) -> tuple[TreeState, TimeStep]:
        """Execute at the price seen, or wait for the next one."""
        execute = jnp.asarray(action) == 1
        after = self._move(noise[0], state)
        last = after.step >= self.horizon
        waited = self.waiting_reward + self.discount * jnp.where(last, self.matured(after.price), 0)
        reward = jnp.where(execute, self.executed(state.price), waited)
        return after, TimeStep(_observe(after), reward, execute | last, jnp.zeros((), bool))

    def _move(self, noise: Float[Array, ""], state: TreeState) -> TreeState:
        rises: Bool[Array, ""] = noise < self.up_probability
        price = state.price * jnp.where(rises, self.up, self.down)
        return TreeState(price, state.step + 1, state.ups + rises.astype(jnp.int32))


def _observe(state: TreeState) -> Float[Array, "2"]:
    return jnp.stack([state.price, state.step.astype(state.price.dtype)])
