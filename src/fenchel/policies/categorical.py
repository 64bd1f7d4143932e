"""Policies over a finite set of actions, and the softmax shared by most of them."""

from abc import abstractmethod
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, Num

from fenchel.errors import require, require_nonnegative
from fenchel.noise import uniforms
from fenchel.policies.base import AbstractPolicy


class AbstractDiscrete(AbstractPolicy):
    """A policy over A actions that can list all their probabilities."""

    @abstractmethod
    def probabilities(self, observation: Num[Array, "..."]) -> Float[Array, " actions"]:
        """π(·|s)."""

    def sample(
        self, noise: Float[Array, ""], observation: Num[Array, "..."]
    ) -> tuple[Int[Array, ""], Float[Array, ""]]:
        """Inversion of one uniform: action a where it lies in the a-th slice of [0, 1)."""
        action = invert(noise, self.probabilities(observation))
        return action, self.log_prob(observation, action)

    def entropy(self, observation: Num[Array, "..."]) -> Float[Array, ""]:
        """−Σ_a π(a|s) log π(a|s)."""
        return entropy_of(self.probabilities(observation))

    def mode(self, observation: Num[Array, "..."]) -> Int[Array, ""]:
        """The likeliest action."""
        return jnp.argmax(self.probabilities(observation)).astype(jnp.int32)

    def draw(self, key: Key[Array, ""], shape: tuple[int, ...]) -> Float[Array, "..."]:
        """One uniform per action."""
        return uniforms(key, shape)


class AbstractCategorical(AbstractDiscrete):
    """π(a|s) = ε + (1 − Aε) softmax(0, z₁(s), …)_a over A actions.

    The first action is the reference: its logit is zero, so a policy over A actions has A − 1 logits, no
    direction of which leaves π unchanged. ε > 0 is the ε-soft policy of the portfolio literature (every
    action keeps at least that probability).
    """

    epsilon: float = eqx.field(static=True, default=0.0, kw_only=True)

    @abstractmethod
    def logits(self, observation: Num[Array, "..."]) -> Float[Array, " actions-1"]:
        """Logits of every action but the first."""

    def probabilities(self, observation: Num[Array, "..."]) -> Float[Array, " actions"]:
        """π(·|s)."""
        return _soften(softmax_of(self.logits(observation)), self.epsilon)

    def log_prob(self, observation: Num[Array, "..."], action: Int[Array, ""]) -> Float[Array, ""]:
        """The logarithm of π(a|s)."""
        return log_prob_of(self.epsilon, self.logits(observation), jnp.asarray(action))

    def score_terms(
        self, observation: Num[Array, "..."], action: Int[Array, ""]
    ) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """Both from the same logits, so that their derivatives go back through them once."""
        logits = self.logits(observation)
        spread = entropy_of(_soften(softmax_of(logits), self.epsilon))
        return log_prob_of(self.epsilon, logits, jnp.asarray(action)), spread


def require_epsilon(epsilon: float, actions: int) -> None:
    """Raise unless 0 ≤ ε < 1/A."""
    require_nonnegative("epsilon", epsilon)
    remedy = f"every one of {actions} actions keeps that probability, so it must be below 1/{actions}"
    require(epsilon < 1 / actions, "epsilon", epsilon, remedy)


def entropy_of(chances: Float[Array, " actions"]) -> Float[Array, ""]:
    """−Σ_a p_a log p_a."""
    least = jnp.finfo(chances.dtype).tiny  # type: ignore[no-untyped-call]
    return -jnp.sum(chances * jnp.log(jnp.maximum(chances, least)))


def invert(noise: Float[Array, ""], probabilities: Float[Array, " actions"]) -> Int[Array, ""]:
    """Scaled by the sum, so that rounding in it never selects an action of probability zero."""
    if probabilities.shape[0] == 2:
        return (noise * (probabilities[0] + probabilities[1]) >= probabilities[0]).astype(jnp.int32)
    edges = jnp.cumsum(probabilities)
    return jnp.sum(noise * edges[-1] >= edges[:-1], dtype=jnp.int32)


def softmax_of(logits: Float[Array, " actions-1"]) -> Float[Array, " actions"]:
    """Softmax of logits of which the first, 0, is left out."""
    if logits.shape[0] == 1:
        chance = jax.nn.sigmoid(logits)
        return jnp.concatenate([1 - chance, chance])
    return jax.nn.softmax(jnp.concatenate([jnp.zeros(1, logits.dtype), logits]))


def _soften(probabilities: Float[Array, " actions"], epsilon: float) -> Float[Array, " actions"]:
    if epsilon == 0:
        return probabilities
    return epsilon + (1 - probabilities.shape[0] * epsilon) * probabilities


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def log_prob_of(
    epsilon: float, logits: Float[Array, " actions-1"], action: Int[Array, ""]
) -> Float[Array, ""]:
    """The logarithm of an action's probability, ε-soft, from the logits but the first."""
    if epsilon != 0:
        return jnp.log(_soften(softmax_of(logits), epsilon)[action])
    if logits.shape[0] == 1:
        return jax.nn.log_sigmoid(jnp.where(action == 1, logits[0], -logits[0]))
    padded = jnp.concatenate([jnp.zeros(1, logits.dtype), logits])
    return padded[action] - jax.nn.logsumexp(padded)


@log_prob_of.defjvp
def _log_prob_jvp(epsilon, primals, tangents):  # type: ignore[no-untyped-def]
    """∂ log π_a / ∂z_b = share (1{a = b} − softmax_b): cheaper than what autodiff makes of the logsumexp."""
    logits, action = primals
    soft = softmax_of(logits)
    chosen = (jnp.arange(1, soft.shape[0]) == action).astype(logits.dtype)
    slope = jnp.sum((chosen - soft[1:]) * tangents[0])
    if epsilon != 0:
        count = soft.shape[0]
        picked = jnp.sum(jnp.where(jnp.arange(count) == action, soft, 0))
        kept = (1 - count * epsilon) * picked
        slope = slope * kept / (epsilon + kept)
    return log_prob_of(epsilon, logits, action), slope
