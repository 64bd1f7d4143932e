"""What a policy is worth: statistics of fresh episodes."""

import os
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Key, PyTree

from fenchel.envs.base import AbstractEnvironment
from fenchel.envs.gym import GymnasiumEnvironment
from fenchel.errors import require_count
from fenchel.estimators.episodes import Episodes, draw_rollout, rollout
from fenchel.estimators.host import Player
from fenchel.objectives.base import AbstractObjective
from fenchel.objectives.expectation import Expectation
from fenchel.policies.base import AbstractPolicy
from fenchel.policies.checks import check_policy
from fenchel.training.keys import streams
from fenchel.training.precision import require_all_held
from fenchel.training.resolve import EnvironmentLike, resolve_environment
from fenchel.training.sample import Evaluation, Sample
from fenchel.training.threads import on_threads

EPISODES, HOSTED_EPISODES = 100_000, 1000
"""Of an evaluation where nothing is said, compiled and on the host."""

BATCH = 1000
"""Episodes played side by side; fixed, so that the same seed always means the same episodes."""


def evaluate(
    env: EnvironmentLike,
    policy: AbstractPolicy,
    objective: AbstractObjective | None = None,
    *,
    episodes: int | None = None,
    seed: int = 0,
) -> Evaluation:
    """Mean, standard deviation and objective of a policy's return, from fresh episodes.

    Arguments:
        env: the environment, or its name.
        policy: the policy.
        objective: what `value` and `dual` are of; the expected return by default.
        episodes: how many; 100,000 by default, of Gymnasium's environments 1,000.
        seed: of the evaluation; training never uses the same stream.

    >>> from fenchel import make, make_policy
    >>> env = make("stopping")
    >>> evaluate(env, make_policy("linear", env), episodes=1000).episodes
    1000
    """
    goal = Expectation() if objective is None else objective
    require_all_held(goal)
    return sample_episodes(env, policy, episodes=episodes, seed=seed).evaluate(goal)


def sample_returns(
    env: EnvironmentLike, policy: AbstractPolicy, *, episodes: int | None = None, seed: int = 0
) -> np.ndarray[Any, np.dtype[np.floating[Any]]]:
    """Returns of fresh episodes, the same for the same seed however many cores there are."""
    return sample_episodes(env, policy, episodes=episodes, seed=seed).returns


def sample_episodes(
    env: EnvironmentLike, policy: AbstractPolicy, *, episodes: int | None = None, seed: int = 0
) -> Sample:
    """What risk is measured on, of fresh episodes; as `sample_returns`."""
    world = resolve_environment(env, policy)
    hosted = isinstance(world, GymnasiumEnvironment)
    if episodes is None:
        episodes = HOSTED_EPISODES if hosted else EPISODES
    require_count("episodes", episodes, least=2)
    check_policy(policy, world)
    key = streams(seed).evaluation
    if isinstance(world, GymnasiumEnvironment):
        return _play_hosted(world, policy, key, episodes)
    batches = jnp.arange(-(-episodes // BATCH), dtype=jnp.int32)
    parts = in_threads(lambda part: _play(world, policy, key, part), batches)
    columns = [np.concatenate(column)[:episodes] for column in zip(*parts, strict=True)]
    return Sample(*columns)


def in_threads(run: Callable[[Array], PyTree], items: Array) -> list[PyTree]:
    """Apply a compiled function to a slice of the items on each core."""
    threads = max(1, min(len(items), os.cpu_count() or 1))
    slices = jnp.array_split(items, threads)
    return on_threads(lambda part: jax.tree.map(np.asarray, run(part)), slices, threads)


def _play_hosted(
    env: GymnasiumEnvironment, policy: AbstractPolicy, key: Key[Array, ""], episodes: int
) -> Sample:
    """The same on the host, in the unit of the rewards that were learned from."""
    parts = range(0, episodes, BATCH)
    with Player(env, min(episodes, BATCH)) as player:
        batches = [
            player.play(jax.random.fold_in(key, first), policy, min(BATCH, episodes - first), env.norms)
            for first in parts
        ]
    columns = zip(*(_kept(batch.episodes) for batch in batches), strict=True)
    return Sample(*(np.concatenate(column) for column in columns)).scaled(env.norms.reward)


@eqx.filter_jit
def _play(
    env: AbstractEnvironment, policy: AbstractPolicy, key: Key[Array, ""], batches: Int[Array, " n"]
) -> tuple[Array, ...]:
    def one(batch: PyTree) -> tuple[Array, ...]:
        noise = draw_rollout(jax.random.fold_in(key, batch), env, policy, BATCH)
        return _kept(rollout(env, policy, noise))

    columns = jax.lax.map(one, batches)
    return jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), columns)  # type: ignore[no-any-return]


def _kept(episodes: Episodes) -> tuple[Array, ...]:
    """The columns of a `Sample`."""
    earned = episodes.earned
    peaks = jnp.maximum(jax.lax.cummax(earned), 0)
    paid = jnp.sum(episodes.rewards != 0, axis=0)
    return episodes.returns, episodes.step_moments, jnp.max(peaks - earned, axis=0), paid
