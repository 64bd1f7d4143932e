"""A kiosk orders newspapers each morning, before it knows who comes. From nothing to a frontier."""

from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Box, Discrete

import fenchel
from fenchel.envs import AbstractUniformEnvironment, Outcomes, TimeStep


class Kiosk(AbstractUniformEnvironment):
    """Order 0 to 4 bundles; 0 to 4 are asked for, all alike. What is left keeps; there is room for 4."""

    noise_size: ClassVar[int] = 1  # uniforms on [0, 1) that one step uses
    horizon: int = 6
    discount: float = 1.0
    price: float = 2.0
    cost: float = 1.0

    @property
    def observation_space(self):
        return Box(0.0, float(max(4, self.horizon)), (2,))

    @property
    def action_space(self):
        return Discrete(5)

    def reset(self, noise):
        state = jnp.zeros(2)  # bundles left, day
        return state, state

    def step(self, noise, state, action):
        stock = jnp.minimum(state[0] + action, 4)
        sold = jnp.minimum(stock, jnp.floor(5 * noise[0]))
        state = jnp.stack([stock - sold, state[1] + 1])
        reward = self.price * sold - self.cost * action
        return state, TimeStep(state, reward, state[1] >= self.horizon, jnp.zeros((), bool))

    # The rest is optional: numbered states make policies tables, and what chance can do, answers exact.
    @property
    def state_count(self):
        return 5 * self.horizon

    def index(self, state):
        return (5 * jnp.minimum(state[1], self.horizon - 1) + state[0]).astype(jnp.int32)

    def outcomes(self):
        return Outcomes((np.arange(5)[:, None] + 0.5) / 5, np.full(5, 1 / 5))

    def first_outcomes(self, points=1):
        return Outcomes(np.zeros((1, 1)), np.ones(1))


if __name__ == "__main__":
    for point in fenchel.frontier(Kiosk(), grid=[0.01, 0.1, 1.0], seeds=2).points:
        print(point.risk_aversion, point.mean, point.std, point.score)
