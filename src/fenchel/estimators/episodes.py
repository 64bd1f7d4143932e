"""Episodes of a compiled rollout: what happened, time first, episodes second."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from gymnasium.spaces import Discrete
from jaxtyping import Array, Bool, Float, Int, Key, Num, PyTree

from fenchel.envs.base import AbstractEnvironment
from fenchel.noise import uniforms
from fenchel.objectives.base import AbstractObjective
from fenchel.policies.base import AbstractPolicy

LEAD = 0x6C656164
"""Tag of the noise of leads, which is apart from that of the episodes."""


class Episodes(eqx.Module):
    """m episodes of at most T steps, of which the last `led` ones were led by somebody else at first.

    `alive[k, i]` says whether episode i had a k-th step, `own[k, i]` whether the policy chose its action.
    """

    returns: Float[Array, " m"]
    observations: Num[Array, "T m ..."]
    actions: Num[Array, "T m ..."]
    rewards: Float[Array, "T m"]
    alive: Bool[Array, "T m"]
    own: Bool[Array, "T m"]
    led: int = eqx.field(static=True, default=0)
    discount: float = eqx.field(static=True, default=1.0)

    def outcomes(self, objective: AbstractObjective) -> Float[Array, " m ..."]:
        """What an objective goes by: the returns, or means over the steps of the reward and of its square."""
        return self.step_moments if objective.per_step else self.returns

    @property
    def step_moments(self) -> Float[Array, "m 2"]:
        """Means over the steps of the reward and of its square, weighed by the discount."""
        factors = self._factors
        moments = jnp.stack([self.rewards, self.rewards**2], axis=-1)
        return jnp.einsum("t,tmd->md", factors / jnp.sum(factors), moments)

    def own_outcomes(self, objective: AbstractObjective) -> Float[Array, " n ..."]:
        """Those of the episodes that are the policy's from the first step on."""
        return self.outcomes(objective)[: self.returns.shape[0] - self.led]

    @property
    def earned(self) -> Float[Array, "T m"]:
        """The discounted reward so far, that of the step included."""
        return jnp.cumsum(self.rewards * self._factors[:, None], axis=0)

    @property
    def _factors(self) -> Float[Array, " T"]:
        return self.discount ** jnp.arange(self.rewards.shape[0])

    @property
    def own_returns(self) -> Float[Array, " n"]:
        """Returns of the episodes that are the policy's from the first step on."""
        return self.returns[: self.returns.shape[0] - self.led]

    @property
    def lengths(self) -> Int[Array, " m"]:
        """Number of steps of each episode."""
        return jnp.sum(self.alive, axis=0)


class RolloutNoise(eqx.Module):
    """All the randomness of m episodes."""

    reset: PyTree
    step: PyTree
    action: PyTree
    lead: "Lead | None" = None

    def every(self, stride: int) -> "RolloutNoise":
        """That of one episode in `stride`; of episodes that nobody leads."""
        step, action = jax.tree.map(lambda x: x[:, ::stride], (self.step, self.action))
        return RolloutNoise(jax.tree.map(lambda x: x[::stride], self.reset), step, action)


class Lead(eqx.Module):
    """What the last episodes of a batch do before the policy takes over: repeat one action some times.

    The policy is then judged, and learns, in states that it would not go to by itself.
    """

    action: Int[Array, " led"]
    length: Int[Array, " led"]

    @classmethod
    def draw(cls, key: Key[Array, ""], actions: int, horizon: int, led: int) -> "Lead":
        """An action and a number of times below the horizon, both uniform."""
        numbers = uniforms(key, (2, led))
        action, length = (
            jnp.floor(numbers[i] * n).astype(jnp.int32) for i, n in enumerate((actions, horizon))
        )
        return cls(action, length)


def draw_rollout(
    key: Key[Array, ""], env: AbstractEnvironment, policy: AbstractPolicy, count: int, led: int = 0
) -> RolloutNoise:
    """The noise of `count` episodes, of which the last `led` are led at first."""
    reset, step, action = jax.random.split(key, 3)
    steps = (env.horizon, count)
    noise = RolloutNoise(env.draw(reset, (count,)), env.draw(step, steps), policy.draw(action, steps))
    if led == 0:
        return noise
    space = env.action_space
    assert isinstance(space, Discrete)
    lead = Lead.draw(jax.random.fold_in(key, LEAD), int(space.n), env.horizon, led)
    return RolloutNoise(noise.reset, noise.step, noise.action, lead)


def rollout(env: AbstractEnvironment, policy: AbstractPolicy, noise: RolloutNoise) -> Episodes:
    """Play episodes; deterministic in the noise. An ended episode stands still and earns nothing."""

    def advance(carry: Any, now: Any) -> tuple[Any, Any]:
        state, observation, alive, ret, factor = carry
        step, env_noise, policy_noise = now
        action, _ = jax.vmap(policy.sample)(policy_noise, observation)
        action, own = _led(noise.lead, step, action)
        after, seen = jax.vmap(env.step)(env_noise, state, action)
        reward = jnp.where(alive, seen.reward, 0)
        going = alive & ~(seen.terminated | seen.truncated)
        state, following = _keep(going, (after, seen.observation), (state, observation))
        carry = (state, following, going, ret + factor * reward, factor * env.discount)
        return carry, (observation, action, reward, alive, alive & own)

    state, observation = jax.vmap(env.reset)(noise.reset)
    count = jax.tree.leaves(observation)[0].shape[0]
    start = (state, observation, jnp.ones(count, bool), jnp.zeros(count), jnp.ones(()))
    scanned = jnp.arange(env.horizon), noise.step, noise.action
    (_, _, _, returns, _), (seen, actions, rewards, alive, own) = jax.lax.scan(advance, start, scanned)
    led = 0 if noise.lead is None else int(noise.lead.action.shape[0])
    return Episodes(returns, seen, actions, rewards, alive, own, led, env.discount)


def _led(
    lead: Lead | None, step: Int[Array, ""], action: Num[Array, "m ..."]
) -> tuple[Num[Array, "m ..."], Bool[Array, " m"]]:
    """The actions, and whether they are the policy's own."""
    count = action.shape[0]
    if lead is None:
        return action, jnp.ones(count, bool)
    free = count - lead.action.shape[0]
    own = jnp.concatenate([jnp.ones(free, bool), step >= lead.length])
    given = jnp.concatenate([action[:free], lead.action.astype(action.dtype)])
    return jnp.where(own, action, given), own


def _keep(flag: Bool[Array, " m"], new: PyTree, old: PyTree) -> PyTree:
    def pick(after: Array, before: Array) -> Array:
        return jnp.where(flag.reshape(flag.shape + (1,) * (after.ndim - 1)), after, before)

    return jax.tree.map(pick, new, old)
