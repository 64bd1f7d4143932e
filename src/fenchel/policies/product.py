"""A policy over several choices at once: independent softmaxes over the outputs of one network."""

from itertools import accumulate, pairwise
from typing import final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, Num

from fenchel.errors import require, require_count
from fenchel.noise import uniforms
from fenchel.policies.base import AbstractPolicy
from fenchel.policies.categorical import entropy_of, invert, log_prob_of, softmax_of
from fenchel.policies.features import AbstractFeatures
from fenchel.policies.mlp import Network, require_inputs


@final
class ProductSoftmax(AbstractPolicy):
    """π(a|s) = Π_i softmax(0, f_i(φ(s)))_{a_i}, where f_i are the outputs of a network for the i-th choice.

    Arguments:
        network: f, with an output for every option of a choice but its first.
        features: φ.
        counts: how many options each choice has.

    >>> import jax
    >>> from fenchel.policies import Raw
    >>> policy = ProductSoftmax(Network.initial(2, (), 3, jax.random.key(0)), Raw(2), (2, 3))
    >>> [chances.tolist() for chances in policy.probabilities(jnp.ones(2))][0]
    [0.5, 0.5]
    """

    network: Network
    features: AbstractFeatures
    counts: tuple[int, ...] = eqx.field(static=True)

    def __check_init__(self) -> None:
        require_inputs(self.network, self.features)
        for count in self.counts:
            require_count("counts", count)
        size = sum(self.counts) - len(self.counts)
        remedy = f"must be {size}, one for every option of a choice but its first"
        require(self.network.outputs == size, "network.outputs", self.network.outputs, remedy)

    def probabilities(self, observation: Num[Array, "..."]) -> list[Float[Array, " options"]]:
        """Of the options of each choice."""
        return [softmax_of(logits) for logits in self._logits(observation)]

    def sample(
        self, noise: Float[Array, " choices"], observation: Num[Array, "..."]
    ) -> tuple[Int[Array, " choices"], Float[Array, ""]]:
        """Inversion of one uniform per choice."""
        chances = self.probabilities(observation)
        action = jnp.stack([invert(noise[i], one) for i, one in enumerate(chances)])
        return action, self.log_prob(observation, action)

    def log_prob(self, observation: Num[Array, "..."], action: Int[Array, " choices"]) -> Float[Array, ""]:
        """Σ_i log π_i(a_i|s)."""
        return self._log_prob(self._logits(observation), action)

    def mode(self, observation: Num[Array, "..."]) -> Int[Array, " choices"]:
        """The likeliest option of each choice."""
        return jnp.stack([jnp.argmax(one).astype(jnp.int32) for one in self.probabilities(observation)])

    def entropy(self, observation: Num[Array, "..."]) -> Float[Array, ""]:
        """The sum of those of the choices."""
        return sum((entropy_of(one) for one in self.probabilities(observation)), jnp.zeros(()))

    def score_terms(
        self, observation: Num[Array, "..."], action: Int[Array, " choices"]
    ) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """Both from the same logits."""
        logits = self._logits(observation)
        spread = sum((entropy_of(softmax_of(one)) for one in logits), jnp.zeros(()))
        return self._log_prob(logits, action), spread

    def draw(self, key: Key[Array, ""], shape: tuple[int, ...]) -> Float[Array, "..."]:
        """One uniform per choice."""
        return uniforms(key, (*shape, len(self.counts)))

    def _logits(self, observation: Num[Array, "..."]) -> list[Float[Array, " options-1"]]:
        values = self.network(self.features(observation))
        ends = accumulate((count - 1 for count in self.counts), initial=0)
        return [values[start:end] for start, end in pairwise(ends)]

    def _log_prob(
        self, logits: list[Float[Array, " options-1"]], action: Int[Array, " choices"]
    ) -> Float[Array, ""]:
        chosen = (log_prob_of(0.0, one, jnp.asarray(action)[i]) for i, one in enumerate(logits))
        return sum(chosen, jnp.zeros(()))
