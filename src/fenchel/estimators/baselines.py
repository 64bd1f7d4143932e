"""Baselines of the score function that are learned from the batch itself."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from gymnasium.spaces import Discrete
from jax.scipy.sparse.linalg import cg
from jaxtyping import Array, Bool, Float, Int

from fenchel.envs.base import AbstractEnvironment
from fenchel.estimators.episodes import Episodes

RIDGE = 1e-4
"""Weight of the ridge, per episode, on features of unit scale."""

SOLVES = 64
"""Most steps of conjugate gradients."""

TINY = 1e-6
"""A spread below this counts as none."""


class Moments(NamedTuple):
    """Mean and standard deviation of some numbers."""

    mean: Float[Array, " n"]
    std: Float[Array, " n"]


def others_mean(weights: Float[Array, " m"], own: Bool[Array, "T m"]) -> Float[Array, "T m"]:
    """For every step the mean weight of the other episodes that were still going, and 0 where none was."""
    going = jnp.where(own, weights[None], 0)
    others = jnp.sum(going, axis=1, keepdims=True) - going
    count = jnp.sum(own, axis=1, keepdims=True) - own
    return others / jnp.maximum(count, 1)


def learned_value(
    weights: Float[Array, " m"], episodes: Episodes, env: AbstractEnvironment
) -> Float[Array, "T m"]:
    """What an episode is worth from each of its steps on, judged by other episodes of the batch.

    Where observations are indices it is the mean weight of the other visits to the index; else a ridge
    regression on the observation, the reward so far and the step, fitted on one half of the episodes for the
    other. Both leave out the episode itself, which keeps the direction unbiased (an index that an episode
    visits twice leaves a bias of one over the number of visits).
    """
    space = env.observation_space
    if isinstance(space, Discrete):
        return _mean_of_visits(weights, episodes.observations, episodes.own, int(space.n))
    return _regression(weights, seen_so_far(episodes), episodes.own)


def _mean_of_visits(
    weights: Float[Array, " m"], index: Int[Array, "T m"], own: Bool[Array, "T m"], states: int
) -> Float[Array, "T m"]:
    worth = jnp.where(own, weights[None], 0)
    sums = jax.ops.segment_sum(worth.ravel(), index.ravel(), states)
    counts = jax.ops.segment_sum(own.ravel().astype(worth.dtype), index.ravel(), states)
    return (sums[index] - worth) / jnp.maximum(counts[index] - own, 1)


def seen_so_far(episodes: Episodes) -> Float[Array, "T m n"]:
    """What was observed in each step, the reward so far and the number of the step."""
    horizon, count = episodes.rewards.shape
    earned = episodes.earned
    so_far = jnp.concatenate([jnp.zeros_like(earned[:1]), earned[:-1]])
    step = jnp.broadcast_to(jnp.arange(horizon, dtype=so_far.dtype)[:, None], (horizon, count))
    seen = episodes.observations.reshape(horizon, count, -1).astype(so_far.dtype)
    return jnp.concatenate([seen, so_far[..., None], step[..., None]], axis=2)


def unit_scale(raw: Float[Array, "T m n"], used: Bool[Array, "T m"]) -> Moments:
    """Mean and standard deviation of each number where it counts."""
    where = used[..., None]
    total = jnp.maximum(jnp.sum(where), 1)
    mean = jnp.sum(jnp.where(where, raw, 0), axis=(0, 1)) / total
    square = jnp.sum(jnp.where(where, (raw - mean[None, None]) ** 2, 0), axis=(0, 1)) / total
    return Moments(mean, jnp.sqrt(square))


def quadratic(raw: Float[Array, "T m n"], moments: Moments) -> Float[Array, "T m d"]:
    """The numbers at unit scale, their squares, and a constant."""
    std = moments.std[None, None]
    scaled = jnp.where(std > TINY, (raw - moments.mean[None, None]) / jnp.maximum(std, TINY), 0)
    return jnp.concatenate([scaled, scaled**2, jnp.ones_like(scaled[..., :1])], axis=2)


def ridge(gram: Float[Array, "d d"], cross: Float[Array, " d"]) -> Float[Array, " d"]:
    """The solution of slightly regularised normal equations, by conjugate gradients.

    A decomposition would call LAPACK, which may wait forever for the threads that learners run on.
    """
    size = jnp.trace(gram) / gram.shape[0]
    regular = gram + (RIDGE * size + TINY) * jnp.eye(gram.shape[0], dtype=gram.dtype)
    scale = 1 / jnp.sqrt(jnp.diagonal(regular))
    whitened = regular * scale[:, None] * scale[None]
    solve = partial(cg, tol=1e-7, maxiter=SOLVES)
    fit: Float[Array, " d"] = solve(lambda v: whitened @ v, cross * scale)[0]
    return fit * scale


def _regression(
    weights: Float[Array, " m"], raw: Float[Array, "T m n"], own: Bool[Array, "T m"]
) -> Float[Array, "T m"]:
    """Every second episode predicts the others, and the other way round.

    Their scale is their own too: how long an episode lasts depends on its actions, and a baseline must not.
    """
    parity = jnp.arange(weights.shape[0]) % 2

    def predicted(half: int) -> Float[Array, "T m"]:
        used = own & (parity == half)[None]
        features = quadratic(raw, unit_scale(raw, used))
        mine = jnp.where(used[..., None], features, 0)
        fit = ridge(jnp.einsum("tmd,tme->de", mine, mine), jnp.einsum("tmd,m->d", mine, weights))
        return features @ fit

    return jnp.where(parity[None] == 0, predicted(1), predicted(0))
