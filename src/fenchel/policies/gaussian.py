"""Policies over continuous actions: a normal distribution around a learned mean."""

from abc import abstractmethod
from math import e, log, pi, prod
from typing import final

import jax.numpy as jnp
from jaxtyping import Array, Float, Key, Num

from fenchel.errors import require
from fenchel.noise import normals
from fenchel.policies.base import AbstractPolicy
from fenchel.policies.features import AbstractFeatures
from fenchel.policies.mlp import Network, require_inputs


class AbstractGaussian(AbstractPolicy):
    """a = μ(s) + exp(log σ) ξ with independent standard normal ξ.

    The learned log σ is the same in every state. Actions are unbounded: an environment with bounds clips them
    itself.
    """

    log_std: Float[Array, "..."]

    @abstractmethod
    def mean(self, observation: Num[Array, "..."]) -> Float[Array, "..."]:
        """μ(s)."""

    def sample(
        self, noise: Float[Array, "..."], observation: Num[Array, "..."]
    ) -> tuple[Float[Array, "..."], Float[Array, ""]]:
        """An action, differentiable in the parameters (pathwise), and its log density."""
        mean = self.mean(observation)
        action = mean + jnp.exp(self.log_std) * jnp.asarray(noise, mean.dtype)
        return action, self._log_density(mean, action)

    def log_prob(self, observation: Num[Array, "..."], action: Float[Array, "..."]) -> Float[Array, ""]:
        """−½ Σ_i (((a_i − μ_i)/σ_i)² + 2 log σ_i + log 2π)."""
        mean = self.mean(observation)
        return self._log_density(mean, jnp.asarray(action, mean.dtype))

    def mode(self, observation: Num[Array, "..."]) -> Float[Array, "..."]:
        """The mean."""
        return self.mean(observation)

    def entropy(self, observation: Num[Array, "..."]) -> Float[Array, ""]:
        """Σ_i (log σ_i + ½ log 2πe), the same in every state."""
        return jnp.sum(self.log_std + 0.5 * log(2 * pi * e))

    def draw(self, key: Key[Array, ""], shape: tuple[int, ...]) -> Float[Array, "..."]:
        """A standard normal per coordinate of an action."""
        return normals(key, (*shape, *self.log_std.shape))

    def _log_density(self, mean: Float[Array, "..."], action: Float[Array, "..."]) -> Float[Array, ""]:
        scaled = (action - mean) * jnp.exp(-self.log_std)
        return -0.5 * jnp.sum(scaled**2 + (2 * self.log_std + log(2 * pi)))


@final
class LinearGaussian(AbstractGaussian):
    """μ(s) = W φ(s).

    Arguments:
        log_std: log σ, shaped like an action.
        weights: W, a row per coordinate of the action.
        features: φ.

    >>> import jax.numpy as jnp
    >>> from fenchel.policies import Raw
    >>> policy = LinearGaussian(jnp.zeros(1), jnp.array([[2.0, 1.0]]), Raw(2))
    >>> policy.mode(jnp.array([1.0, 0.5])).tolist()
    [2.5]
    """

    weights: Float[Array, "... features"]
    features: AbstractFeatures

    def __check_init__(self) -> None:
        shape = (*jnp.shape(self.log_std), self.features.size)
        remedy = f"must be {shape}, the shape of log_std and the size of the features"
        require(jnp.shape(self.weights) == shape, "weights.shape", jnp.shape(self.weights), remedy)

    def mean(self, observation: Num[Array, "..."]) -> Float[Array, "..."]:
        """W φ(s)."""
        return self.weights @ self.features(observation).astype(self.weights.dtype)


@final
class MLPGaussian(AbstractGaussian):
    """μ(s) = f(φ(s)) for a network f with an output per coordinate of the action.

    Arguments:
        log_std: log σ, shaped like an action.
        network: f.
        features: φ.

    >>> import jax
    >>> from fenchel.policies import Raw
    >>> network = Network.initial(2, (8,), 1, jax.random.key(0))
    >>> MLPGaussian(jax.numpy.zeros(1), network, Raw(2)).mode(jax.numpy.ones(2)).tolist()
    [0.0]
    """

    network: Network
    features: AbstractFeatures

    def __check_init__(self) -> None:
        require_inputs(self.network, self.features)
        size = prod(jnp.shape(self.log_std))
        remedy = f"must be {size}, the number of coordinates of log_std"
        require(self.network.outputs == size, "network.outputs", self.network.outputs, remedy)

    def mean(self, observation: Num[Array, "..."]) -> Float[Array, "..."]:
        """f(φ(s)), shaped like an action."""
        return self.network(self.features(observation)).reshape(self.log_std.shape)
