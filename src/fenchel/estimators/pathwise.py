"""The pathwise estimator: derivatives of the return itself, through the environment."""

from typing import final

import equinox as eqx
import jax
import jax.numpy as jnp
from gymnasium.spaces import Box
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Key, Num, PyTree

from fenchel.envs.base import AbstractEnvironment
from fenchel.errors import InputError, require, require_count
from fenchel.estimators.base import AbstractEstimator
from fenchel.estimators.episodes import Episodes, RolloutNoise, rollout
from fenchel.estimators.newton import Curvature
from fenchel.objectives.base import AbstractObjective
from fenchel.policies.base import AbstractPolicy

SPARE = 4
"""Step lengths are tried on one episode in so many."""


class TracedEpisodes(Episodes):
    """Episodes with the derivative of each return in each action, what follows from it included."""

    levers: Float[Array, "T m ..."] = eqx.field(kw_only=True)
    noise: RolloutNoise = eqx.field(kw_only=True)


@final
class Nudged(AbstractPolicy):
    """A policy whose actions are moved by a given amount, for differentiating in it."""

    policy: AbstractPolicy

    def sample(
        self, noise: PyTree, observation: Num[Array, "..."]
    ) -> tuple[Num[Array, "..."], Float[Array, ""]]:
        """The action of the policy, moved."""
        own, nudge = noise
        action, log_prob = self.policy.sample(own, observation)
        return action + nudge, log_prob

    def log_prob(self, observation: Num[Array, "..."], action: Num[Array, "..."]) -> Float[Array, ""]:
        """That of the policy."""
        return self.policy.log_prob(observation, action)

    def mode(self, observation: Num[Array, "..."]) -> Num[Array, "..."]:
        """That of the policy."""
        return self.policy.mode(observation)


@final
class Pathwise(AbstractEstimator):
    """Mean over the batch of w'(R) ∇R, with w the objective's weight of a return and ∇ through the simulator.

    An episode is played once. Its return is differentiated in its actions, ∂R/∂a_k, all that follows from
    them included; then ∇R = Σ_k (∂R/∂a_k) ∇π(s_k) with the observations held.

    Arguments:
        env: an environment whose return can be differentiated in its actions.
        batch_size: episodes per batch, m.
        newton: make it a Gauss-Newton step instead of a gradient (`Curvature`).
    """

    env: AbstractEnvironment
    batch_size: int = eqx.field(static=True, default=1)
    newton: bool = eqx.field(static=True, default=False)

    def __check_init__(self) -> None:
        require_count("batch_size", self.batch_size)
        name = type(self.env).__name__
        fits = self.env.differentiable and isinstance(self.env.action_space, Box)
        require(fits, "estimator", "pathwise", f"needs derivatives, and {name} has none: use 'score'")
        if self.newton and self.batch_size < 2:
            remedy = "tells no curvature: take a batch_size of at least 2"
            raise InputError("batch_size", self.batch_size, remedy)

    def draw(self, key: Key[Array, ""], policy: AbstractPolicy) -> RolloutNoise:
        """The noise of one batch, spread evenly where the environment can."""
        steps = (self.env.horizon, self.batch_size)
        reset, step, action = jax.random.split(key, 3)
        return RolloutNoise(
            self.env.draw(reset, steps[1:]), self.env.spread(step, steps), policy.draw(action, steps)
        )

    def sample(self, noise: RolloutNoise, policy: AbstractPolicy) -> TracedEpisodes:
        """One batch of episodes, and the derivatives of their returns."""
        space = self.env.action_space
        still = jnp.zeros((self.env.horizon, self.batch_size, *(space.shape or ())))

        def play(nudge: Float[Array, "T m ..."]) -> tuple[Float[Array, ""], Episodes]:
            moved = RolloutNoise(noise.reset, noise.step, (noise.action, nudge))
            episodes = rollout(self.env, Nudged(policy), moved)
            return jnp.sum(episodes.returns), episodes

        levers, episodes = jax.grad(play, has_aux=True)(still)
        known = {name: getattr(episodes, name) for name in Episodes.__dataclass_fields__}
        return TracedEpisodes(**known, levers=levers, noise=noise)

    def direction(
        self,
        policy: AbstractPolicy,
        episodes: Episodes,
        objective: AbstractObjective,
        dual: Float[Array, ""],
        memory: PyTree = None,
        entropy: Float[Array, ""] | None = None,
    ) -> AbstractPolicy:
        """The gradient of the batch mean of w(R), or the step that it suggests."""
        assert isinstance(episodes, TracedEpisodes)
        params, rest = eqx.partition(policy, eqx.is_inexact_array)
        flat, restore = ravel_pytree(params)
        slopes = slope(objective, episodes.returns, dual)
        step = slopes @ gradients(policy, episodes) / self.batch_size
        if memory is not None:
            step = memory.step(step, _late(params))
            tried = episodes.noise.every(SPARE)

            def worth(length: Float[Array, ""]) -> Float[Array, ""]:
                moved = eqx.combine(restore(flat + length * step), rest)
                returns = rollout(self.env, moved, tried).returns
                return objective.value(returns)

            step = memory.length(worth) * step
        moved: AbstractPolicy = restore(step)
        return moved

    def init(self, policy: AbstractPolicy) -> PyTree:
        """Of a Newton step, that no curvature is known."""
        if not self.newton:
            return None
        return Curvature.unknown(ravel_pytree(eqx.filter(policy, eqx.is_inexact_array))[0].size)

    def remember(
        self,
        memory: PyTree,
        policy: AbstractPolicy,
        episodes: Episodes,
        objective: AbstractObjective,
        dual: Float[Array, ""],
    ) -> PyTree:
        """The curvature of the batch."""
        if memory is None:
            return None
        assert isinstance(episodes, TracedEpisodes)
        bend = curvature(objective, episodes.returns, dual)
        return memory.add(gradients(policy, episodes), bend)


def _late(params: PyTree) -> Bool[Array, " p"]:
    """The slopes of a policy that is affine in what it sees."""
    marked = jax.tree_util.tree_map_with_path(
        lambda path, x: jnp.full_like(x, jax.tree_util.keystr(path).endswith(".slopes")), params
    )
    return ravel_pytree(marked)[0] > 0


def gradients(policy: AbstractPolicy, episodes: TracedEpisodes) -> Float[Array, "m p"]:
    """∇R = Σ_k (∂R/∂a_k) ∇π(s_k) of each episode, the observations held."""
    params, rest = eqx.partition(policy, eqx.is_inexact_array)
    flat, restore = ravel_pytree(params)

    def led(theta: Float[Array, " p"], levers: Array, noise: PyTree, seen: Array) -> Float[Array, ""]:
        actions, _ = jax.vmap(eqx.combine(restore(theta), rest).sample)(noise, seen)
        return jnp.sum(levers * actions)

    told = episodes.levers, episodes.noise.action, episodes.observations
    found: Float[Array, "m p"] = jax.vmap(jax.grad(led), (None, 1, 1, 1))(flat, *told)
    return found


def slope(
    objective: AbstractObjective, returns: Float[Array, " m"], dual: Float[Array, ""]
) -> Float[Array, " m"]:
    """w'(R) of each return: how the objective gains from more of it."""
    sample = jax.lax.stop_gradient(returns)
    found: Float[Array, " m"] = jax.grad(lambda r: jnp.sum(objective.weights(r, dual, sample)))(returns)
    return found


def curvature(
    objective: AbstractObjective, returns: Float[Array, " m"], dual: Float[Array, ""]
) -> Float[Array, ""]:
    """−w'' on average: by its own derivative, or if that says less, by the trend of w' over the returns.

    The trend, −Cov(w'(R), R)/Var(R), is −E[w''] for normal returns (Stein), also where w has corners.
    """

    def total(returns: Float[Array, " m"]) -> Float[Array, " m"]:
        return slope(objective, returns, dual)

    own = -jnp.mean(jax.jvp(total, (returns,), (jnp.ones_like(returns),))[1])
    gap = returns - jnp.mean(returns)
    spread = jnp.mean(gap**2)
    trend = -jnp.mean(total(returns) * gap) / jnp.where(spread > 0, spread, 1)
    return jnp.maximum(own, trend)
