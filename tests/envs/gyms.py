"""Small environments of Gymnasium with a truth that is known."""

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete

LONGEST = 6


class Token(gymnasium.Env):
    """An episode draws a number and a length; odd lengths terminate, even ones are truncated.

    It observes number and step, and the reward of a step is the number plus the step.
    """

    observation_space = Box(-np.inf, np.inf, (2,), np.float64)
    action_space = Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.number, self.count = self.np_random.random(), 0
        self.length = int(self.np_random.integers(1, LONGEST + 1))
        return np.array([self.number, 0.0]), {}

    def step(self, action):
        reward = self.number + self.count
        self.count += 1
        over, odd = self.count == self.length, self.length % 2 == 1
        return np.array([self.number, float(self.count)]), reward, over and odd, over and not odd, {}


class Arms(gymnasium.Env):
    """One choice: 1 for sure, or 1.3 give or take 1. At λ < 0.3 the second is better."""

    observation_space = Discrete(1, start=3)
    action_space = Discrete(2, start=-1)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 3, {}

    def step(self, action):
        assert action in (-1, 0)
        reward = 1.0 if action == -1 else 1.3 + self.np_random.standard_normal()
        return 3, reward, True, False, {}


class Target(gymnasium.Env):
    """One choice of two real numbers, best at 0.5 and −0.5."""

    observation_space = Box(-1, 1, (1,))
    action_space = Box(np.float32([-1, -2]), np.float32([1, 2]))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {}

    def step(self, action):
        assert self.action_space.contains(action)
        return np.zeros(1, np.float32), -float(np.sum((action - [0.5, -0.5]) ** 2)), True, False, {}


class Corridor(gymnasium.Env):
    """Eight steps to the left or right of 0. A step on the right pays more on average, and noise."""

    STEPS, MORE, NOISE = 8, 0.3, 1.0
    observation_space = Dict(place=Box(-1, 1, (1,), np.float64), left=Box(0, STEPS, (1, 1), np.float64))
    action_space = MultiDiscrete([2, 3], start=[0, 5])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.count = 0, 0
        return self.seen(), {}

    def step(self, action):
        assert self.action_space.contains(action)
        self.count += 1
        self.place = int(np.clip(self.place + (1 if action[0] else -1), -2, 2))
        reward = 1.0
        if self.place > 0:
            reward += self.MORE + self.NOISE * self.np_random.standard_normal()
        return self.seen(), reward, False, self.count == self.STEPS, {}

    def seen(self):
        return {"place": np.array([self.place / 2]), "left": np.array([[float(self.STEPS - self.count)]])}


class Faulty(gymnasium.Env):
    """Steps that cost one each, and in a step what is asked for: a bad number, or no end."""

    observation_space = Box(-1, 1, (1,), np.float64)
    action_space = Discrete(2)

    def __init__(self, reward=0.0, seen=0.0, at=3, length=5):
        self.reward, self.seen, self.at, self.length = reward, seen, at, length

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = -1
        return np.zeros(1), {}

    def step(self, action):
        self.count += 1
        now = self.count == self.at
        seen = np.array([self.seen if now else 0.0])
        return seen, self.reward if now else -1.0, self.count + 1 == self.length, False, {}
