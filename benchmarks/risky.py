"""What Stable-Baselines3 needs to learn for mean-variance on an environment of fenchel's."""

import time
from collections import deque
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import torch
from stable_baselines3.common.callbacks import BaseCallback

import fenchel.gymnasium  # noqa: F401

REMEMBERED = 100
"""Returns whose mean is the dual; as many as Stable-Baselines3 itself averages over."""


class TerminalRisk(gymnasium.Wrapper):
    """Pays ψ(R, y) = R − λ(R − y)² when an episode ends, and nothing before.

    For a fixed dual y that is an ordinary problem; `update` moves y to its best value.

    Arguments:
        name: of the environment.
        risk_aversion: λ.
    """

    def __init__(self, name: str, risk_aversion: float):
        super().__init__(gymnasium.make(name, disable_env_checker=True))
        self.risk_aversion, self.dual, self.so_far = risk_aversion, 0.0, 0.0
        self.returns: deque[float] = deque(maxlen=REMEMBERED)

    def reset(self, **how: Any) -> tuple[Any, dict[str, Any]]:
        """Nothing is earned yet."""
        self.so_far = 0.0
        return self.env.reset(**how)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Rewards are kept back until the end."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.so_far += reward
        paid = 0.0
        if terminated or truncated:
            self.returns.append(self.so_far)
            paid = self.so_far - self.risk_aversion * (self.so_far - self.dual) ** 2
        return observation, paid, terminated, truncated, info

    def update(self) -> None:
        """The dual of the returns so far."""
        self.dual = float(np.mean(self.returns)) if self.returns else 0.0

    def nodes(self) -> np.ndarray[Any, Any]:
        """What is observed in each decision state of the option, in the order of its index."""
        option = self.unwrapped.env
        steps = [(step, ups) for step in range(option.horizon) for ups in range(step + 1)]
        return np.array(
            [[option.start * option.up**n * option.down ** (t - n), t] for t, n in steps], np.float32
        )


class Follow(BaseCallback):
    """Between two iterations: update the dual, and every so many seconds ask whether that is enough.

    Arguments:
        world: the environment.
        enough: takes the probabilities of the actions in every state, and answers whether to stop.
        pause: seconds between two questions.
    """

    def __init__(self, world: TerminalRisk, enough: Callable[[np.ndarray[Any, Any]], bool], pause: float):
        super().__init__()
        self.world, self.enough, self.pause = world, enough, pause
        self.asked, self.done = time.perf_counter(), False

    def _on_rollout_end(self) -> None:
        self.world.update()
        if time.perf_counter() - self.asked >= self.pause:
            self.done = self.enough(self._chances())
            self.asked = time.perf_counter()

    def _on_step(self) -> bool:
        return not self.done

    def _chances(self) -> np.ndarray[Any, Any]:
        with torch.no_grad():
            law = self.model.policy.get_distribution(torch.as_tensor(self.world.nodes())).distribution
            return law.probs.double().numpy()
