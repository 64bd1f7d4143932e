"""A small neural network, and the softmax policy over its outputs."""

from itertools import pairwise
from typing import final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, Num

from fenchel.errors import require, require_count
from fenchel.policies.categorical import AbstractCategorical, require_epsilon
from fenchel.policies.features import AbstractFeatures


@final
class Network(eqx.Module):
    """Fully connected layers with tanh between them. Unlike `eqx.nn.MLP`, every leaf is an array.

    >>> import jax
    >>> Network.initial(4, (16,), 2, jax.random.key(0))(jax.numpy.ones(4)).tolist()
    [0.0, 0.0]
    """

    layers: tuple[eqx.nn.Linear, ...]

    @classmethod
    def initial(
        cls,
        inputs: int,
        hidden: tuple[int, ...],
        outputs: int,
        key: Key[Array, ""],
        start: Float[Array, " outputs"] | None = None,
    ) -> "Network":
        """Random hidden layers and a last layer without weights: every output is `start`, or 0, at first."""
        for width in hidden:
            require_count("hidden", width)
        sizes = list(pairwise((inputs, *hidden, outputs)))
        keys = jax.random.split(key, len(sizes))
        layers = [eqx.nn.Linear(*size, key=each) for size, each in zip(sizes, keys, strict=True)]
        last = jax.tree.map(jnp.zeros_like, layers[-1])
        if start is not None:
            last = eqx.tree_at(lambda layer: layer.bias, last, start)
        return cls((*layers[:-1], last))

    @property
    def inputs(self) -> int:
        """Size of what goes in."""
        return int(self.layers[0].weight.shape[1])

    @property
    def outputs(self) -> int:
        """Size of what comes out."""
        return int(self.layers[-1].weight.shape[0])

    def __call__(self, values: Float[Array, " inputs"]) -> Float[Array, " outputs"]:
        """The outputs."""
        values = values.astype(self.layers[0].weight.dtype)
        for layer in self.layers[:-1]:
            values = jnp.tanh(layer(values))
        return self.layers[-1](values)


@final
class MLPSoftmax(AbstractCategorical):
    """π(·|s) = softmax(0, f(φ(s))) for a network f with an output for every action but the first.

    Arguments:
        network: f.
        features: φ.
        epsilon: the least probability of an action.

    >>> import jax
    >>> from fenchel.policies import Raw
    >>> network = Network.initial(2, (8,), 1, jax.random.key(0))
    >>> MLPSoftmax(network, Raw(2)).probabilities(jax.numpy.ones(2)).tolist()
    [0.5, 0.5]
    """

    network: Network
    features: AbstractFeatures

    def __check_init__(self) -> None:
        require_inputs(self.network, self.features)
        require_epsilon(self.epsilon, self.network.outputs + 1)

    def logits(self, observation: Num[Array, "..."]) -> Float[Array, " actions-1"]:
        """f(φ(s))."""
        return self.network(self.features(observation))


def require_inputs(network: Network, features: AbstractFeatures) -> None:
    """Raise unless the network takes as many numbers as the features give."""
    remedy = f"must be {features.size}, the size of the features"
    require(network.inputs == features.size, "network.inputs", network.inputs, remedy)
