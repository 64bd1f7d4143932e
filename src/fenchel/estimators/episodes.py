"""Episodes of a compiled rollout: what happened, time first, episodes second."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, Num, PyTree

from fenchel.envs.base import AbstractEnvironment
from fenchel.policies.base import AbstractPolicy


class Episodes(eqx.Module):
    """m episodes of at most T steps. `alive[k, i]` says whether episode i had a k-th step."""

    returns: Float[Array, " m"]
    observations: Num[Array, "T m ..."]
    actions: Num[Array, "T m ..."]
    rewards: Float[Array, "T m"]
    alive: Bool[Array, "T m"]

    @property
    def lengths(self) -> Int[Array, " m"]:
        """Number of steps of each episode."""
        return jnp.sum(self.alive, axis=0)


class RolloutNoise(eqx.Module):
    """All the randomness of m episodes."""

    reset: PyTree
    step: PyTree
    action: PyTree


def draw_rollout(
    key: Key[Array, ""], env: AbstractEnvironment, policy: AbstractPolicy, count: int
) -> RolloutNoise:
    """The noise of `count` episodes."""
    reset, step, action = jax.random.split(key, 3)
    steps = (env.horizon, count)
    return RolloutNoise(env.draw(reset, (count,)), env.draw(step, steps), policy.draw(action, steps))


def rollout(env: AbstractEnvironment, policy: AbstractPolicy, noise: RolloutNoise) -> Episodes:
    """Play episodes; deterministic in the noise. An ended episode stands still and earns nothing."""

    def advance(carry: Any, noise_now: Any) -> tuple[Any, Any]:
        state, observation, alive, ret, factor = carry
        env_noise, policy_noise = noise_now
        action, _ = jax.vmap(policy.sample)(policy_noise, observation)
        after, seen = jax.vmap(env.step)(env_noise, state, action)
        reward = jnp.where(alive, seen.reward, 0)
        going = alive & ~(seen.terminated | seen.truncated)
        state, following = _keep(going, (after, seen.observation), (state, observation))
        carry = (state, following, going, ret + factor * reward, factor * env.discount)
        return carry, (observation, action, reward, alive)

    state, observation = jax.vmap(env.reset)(noise.reset)
    count = jax.tree.leaves(observation)[0].shape[0]
    start = (state, observation, jnp.ones(count, bool), jnp.zeros(count), jnp.ones(()))
    (_, _, _, returns, _), steps = jax.lax.scan(advance, start, (noise.step, noise.action))
    return Episodes(returns, *steps)


def _keep(flag: Bool[Array, " m"], new: PyTree, old: PyTree) -> PyTree:
    def pick(after: Array, before: Array) -> Array:
        return jnp.where(flag.reshape(flag.shape + (1,) * (after.ndim - 1)), after, before)

    return jax.tree.map(pick, new, old)
