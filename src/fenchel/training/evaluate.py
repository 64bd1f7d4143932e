"""What a policy is worth: statistics of fresh episodes."""

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, PyTree

from fenchel.envs.base import AbstractEnvironment
from fenchel.envs.gym import GymnasiumEnvironment
from fenchel.errors import require_count
from fenchel.estimators.episodes import draw_rollout, rollout
from fenchel.estimators.host import Player
from fenchel.objectives.base import AbstractObjective
from fenchel.objectives.expectation import Expectation
from fenchel.policies.base import AbstractPolicy
from fenchel.policies.checks import check_policy
from fenchel.training.keys import streams
from fenchel.training.precision import require_all_held
from fenchel.training.resolve import EnvironmentLike, resolve_environment
from fenchel.training.threads import on_threads

EPISODES, HOSTED_EPISODES = 100_000, 1000
"""Of an evaluation where nothing is said, compiled and on the host."""

BATCH = 1000
"""Episodes played side by side; fixed, so that the same seed always means the same episodes."""


@dataclass(frozen=True)
class Evaluation:
    """Statistics of the returns of independent episodes.

    Arguments:
        mean: mean return.
        std: standard deviation of single episodes.
        standard_error: of the mean.
        value: the objective in the units of the return, J − λ Var for both scales of mean-variance.
        dual: the best dual of these returns, in the objective's own scale; None where it has none.
        episodes: how many.
    """

    mean: float
    std: float
    standard_error: float
    value: float
    dual: float | None
    episodes: int

    def asdict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


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
    return summarise(sample_returns(env, policy, episodes=episodes, seed=seed), goal)


def sample_returns(
    env: EnvironmentLike, policy: AbstractPolicy, *, episodes: int | None = None, seed: int = 0
) -> np.ndarray[Any, np.dtype[np.floating[Any]]]:
    """Returns of fresh episodes, the same for the same seed however many cores there are."""
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
    returns = in_threads(lambda part: _play(world, policy, key, part), batches)
    return np.concatenate(returns)[:episodes]


def summarise(returns: np.ndarray[Any, Any], objective: AbstractObjective) -> Evaluation:
    """Statistics of given returns."""
    sample = jnp.asarray(returns)
    with np.errstate(over="ignore", invalid="ignore"):
        mean, std = float(np.mean(returns, dtype=np.float64)), float(np.std(returns, ddof=1))
    return Evaluation(
        mean=mean,
        std=std,
        standard_error=std / len(returns) ** 0.5,
        value=float(objective.natural().value(sample)),
        dual=float(objective.best_dual(sample)) if objective.has_dual else None,
        episodes=len(returns),
    )


def in_threads(run: Callable[[Array], Array], items: Array) -> list[np.ndarray[Any, Any]]:
    """Apply a compiled function to a slice of the items on each core."""
    threads = max(1, min(len(items), os.cpu_count() or 1))
    return on_threads(lambda part: np.asarray(run(part)), jnp.array_split(items, threads), threads)


def _play_hosted(
    env: GymnasiumEnvironment, policy: AbstractPolicy, key: Key[Array, ""], episodes: int
) -> np.ndarray[Any, Any]:
    """The same on the host, in the unit of the rewards that were learned from."""
    parts = range(0, episodes, BATCH)
    with Player(env, min(episodes, BATCH)) as player:
        batches = [
            player.play(jax.random.fold_in(key, first), policy, min(BATCH, episodes - first), env.norms)
            for first in parts
        ]
    return np.concatenate([batch.episodes.returns for batch in batches]) * env.norms.reward


@eqx.filter_jit
def _play(
    env: AbstractEnvironment, policy: AbstractPolicy, key: Key[Array, ""], batches: Int[Array, " n"]
) -> Float[Array, " n*batch"]:
    def one(batch: PyTree) -> Float[Array, " batch"]:
        noise = draw_rollout(jax.random.fold_in(key, batch), env, policy, BATCH)
        return rollout(env, policy, noise).returns

    returns: Float[Array, "n batch"] = jax.lax.map(one, batches)
    return returns.ravel()
