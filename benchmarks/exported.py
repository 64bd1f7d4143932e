"""The option as a Gymnasium vector environment, beside its compiled rollout and Gymnasium's own vectors."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import equinox as eqx
import gymnasium
import jax
import numpy as np
from contest import ratios, turns

import fenchel.gymnasium  # noqa: F401
from fenchel import make, make_policy
from fenchel.estimators import draw_rollout, rollout

MANY, FEW = 16_384, 64
"""Episodes side by side; Gymnasium's `SyncVectorEnv` steps one after the other, however many there are."""


class Stepping:
    """Calls of a function, each so many steps of an environment."""

    def __init__(self, call: Callable[[], Any], steps: int):
        self.call, self.steps = call, steps

    def rate(self, seconds: float) -> float:
        """Steps per second over about so many seconds."""
        begun, count = time.perf_counter(), 0
        while time.perf_counter() - begun < seconds:
            self.call()
            count += 1
        return count * self.steps / (time.perf_counter() - begun)


def measure(repetitions: int, seconds: float) -> Iterator[dict[str, Any]]:
    """Steps per second, as ratios; nobody decides in here, the actions are ready."""
    contestants = [_vector("vector_entry_point", MANY), _compiled(MANY), _vector("sync", FEW)]
    ours, rollouts, one_by_one = turns(contestants, repetitions, seconds)
    for name, others in (("the compiled rollout's", rollouts), ("SyncVectorEnv's", one_by_one)):
        what = f"vector environment, {MANY:,} episodes: steps/s over {name}"
        yield {"what": what, "ratio": ratios(ours, others)}


def _vector(mode: str, count: int) -> Stepping:
    envs = gymnasium.make_vec("fenchel/AmericanOption-v0", num_envs=count, vectorization_mode=mode)
    envs.reset(seed=0)
    actions = np.zeros(count, np.int64)
    return Stepping(lambda: envs.step(actions), count)


def _compiled(count: int) -> Stepping:
    env = make("option")
    policy = make_policy("linear", env)

    @eqx.filter_jit
    def play(key: jax.Array) -> jax.Array:
        return rollout(env, policy, draw_rollout(key, env, policy, count)).returns

    return Stepping(lambda: play(jax.random.key(0)).block_until_ready(), count * env.horizon)
