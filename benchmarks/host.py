"""What playing Gymnasium's environments costs beside stepping them with random actions."""

import time
from collections.abc import Iterator
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from contest import ratios, turns
from gymnasium.vector import AutoresetMode

from fenchel import make
from fenchel.envs import GymnasiumEnvironment
from fenchel.envs.gym import Norms
from fenchel.estimators.host import Player
from fenchel.policies import AbstractPolicy, LinearSoftmax, Raw, make_policy

MOST = 1.3
"""Times the random stepping that a rollout may take."""

EPISODES = 64

BALANCING = (0.0, 0.0, 20.0, 20.0)
"""Weights of a linear policy that keeps the pole up: it goes where the pole falls."""


class Random:
    """Gymnasium's vector environment, stepped with random actions."""

    def __init__(self, name: str, copies: int):
        mode = {"autoreset_mode": AutoresetMode.SAME_STEP}
        self.vector = gymnasium.make_vec(name, copies, "sync", vector_kwargs=mode)
        self.vector.action_space.seed(0)

    def rate(self, seconds: float) -> float:
        """Steps per second, of all copies."""
        self.vector.reset(seed=0)
        begun, count = time.perf_counter(), 0
        while time.perf_counter() - begun < seconds:
            self.vector.step(self.vector.action_space.sample())
            count += self.vector.num_envs
        return count / (time.perf_counter() - begun)


class Rollouts:
    """Batches of whole episodes, as the solver takes them; steps that belong to none are not counted."""

    def __init__(self, env: GymnasiumEnvironment, policy: AbstractPolicy):
        self.player, self.policy, self.batch = Player(env, EPISODES), policy, 0
        size = env.observation_space.shape or (0,)
        self.norms = Norms((0.0,) * size[0], (1.0,) * size[0])

    def rate(self, seconds: float) -> float:
        """Steps of these episodes per second."""
        begun, count = time.perf_counter(), 0
        while time.perf_counter() - begun < seconds:
            batch = self.player.play(jax.random.key(self.batch), self.policy, EPISODES, self.norms)
            count += int(np.sum(batch.episodes.alive))
            self.batch += 1
        return count / (time.perf_counter() - begun)


def measure(repetitions: int, seconds: float) -> Iterator[dict[str, Any]]:
    """A line per environment and policy; the shortest episodes are those of a pole that nobody keeps up."""
    pole, pendulum = (make(f"gym:{name}") for name in ("CartPole-v1", "Pendulum-v1"))
    balancing = LinearSoftmax(jnp.asarray([BALANCING]), Raw(len(BALANCING)))
    key = jax.random.key(0)
    for env, policy, what in (
        (pole, balancing, "CartPole-v1, 500 steps an episode"),
        (pendulum, make_policy("mlp", pendulum, key=key), "Pendulum-v1, 200 steps an episode"),
        (pole, make_policy("mlp", pole, key=key), "CartPole-v1, 22 steps an episode"),
    ):
        assert isinstance(env, GymnasiumEnvironment)
        ours, random = turns([Rollouts(env, policy), Random(env.name, env.copies)], repetitions, seconds)
        found = ratios(random, ours)
        goal = {} if "22" in what else {"target": f"≤ {MOST:g}", "met": found["median"] <= MOST}
        yield {"what": f"rollouts of {what}: time over that of random steps", "ratio": found, **goal}


if __name__ == "__main__":
    for line in measure(5, 1.0):
        print(line["what"], line["ratio"], line.get("target", ""))
