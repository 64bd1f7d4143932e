"""Actions for a batch of observations on the host.

A compiled call takes some 40 µs however small the network is; NumPy takes about ten for the policies that
fenchel makes itself. The others are called compiled. Rounding may differ, and with it an action now and then
whose noise lies on an edge; what is learned from an action does not depend on how it was found.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key, PyTree
from numpy.typing import NDArray

from fenchel.policies.base import AbstractPolicy
from fenchel.policies.categorical import AbstractCategorical
from fenchel.policies.combined import Bias
from fenchel.policies.features import AbstractFeatures, OneHot, Raw, Scaled
from fenchel.policies.gaussian import AbstractGaussian, LinearGaussian, MLPGaussian
from fenchel.policies.linear import LinearSoftmax
from fenchel.policies.mlp import MLPSoftmax, Network
from fenchel.policies.product import ProductSoftmax
from fenchel.policies.tabular import Tabular

Numbers = NDArray[Any]
Acting = Callable[[PyTree, int, Numbers], Numbers]
"""From the noise of many steps, the number of one of them, and a batch of observations, to actions."""

Map = Callable[[Numbers], Numbers]


def draw_acting(key: Key[Array, ""], block: int, policy: AbstractPolicy, shape: tuple[int, ...]) -> PyTree:
    """The noise of the actions of a block of steps; on the host unless it is keys."""
    noise = _draw(key, np.uint32(block), policy, shape)
    typed = any(jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) for leaf in jax.tree.leaves(noise))
    return noise if typed else jax.tree.map(np.asarray, noise)


def acting(policy: AbstractPolicy) -> Acting:
    """What chooses actions.

    >>> import jax.numpy as jnp
    >>> act = acting(Tabular(jnp.zeros((5, 1))))
    >>> act(np.array([[0.4, 0.6]]), 0, np.array([3, 3])).tolist()
    [0, 1]
    """
    outputs = _outputs(policy)
    if outputs is None:
        return lambda noise, step, seen: np.asarray(_sample(policy, noise, np.int32(step), seen))
    if isinstance(policy, AbstractGaussian):
        std = np.exp(np.asarray(policy.log_std))
        return lambda noise, step, seen: outputs(seen).reshape(-1, *std.shape) + std * noise[step]
    if isinstance(policy, ProductSoftmax):
        return partial(_several, outputs, np.cumsum(np.asarray(policy.counts) - 1)[:-1])
    assert isinstance(policy, AbstractCategorical)
    return partial(_one, outputs, policy.epsilon)


def _one(outputs: Map, epsilon: float, noise: Numbers, step: int, seen: Numbers) -> Numbers:
    return _inverted(outputs(seen), noise[step], epsilon)


def _several(outputs: Map, ends: Numbers, noise: Numbers, step: int, seen: Numbers) -> Numbers:
    parts = np.split(outputs(seen), ends, axis=1)
    return np.stack([_inverted(part, noise[step][:, i], 0.0) for i, part in enumerate(parts)], axis=1)


def _inverted(logits: Numbers, uniform: Numbers, epsilon: float) -> Numbers:
    """The action in whose slice of the distribution function the uniform lies."""
    if logits.shape[1] == 1 and not epsilon:
        first = 0.5 - 0.5 * np.tanh(0.5 * logits[:, 0])  # 1 − sigmoid, without overflow
        return np.asarray(uniform >= first, np.int64)
    top = np.maximum(logits.max(axis=1, initial=0.0), 0.0)[:, None]
    raw = np.concatenate([np.exp(-top), np.exp(logits - top)], axis=1)
    if epsilon:
        raw = epsilon + (1 - raw.shape[1] * epsilon) * raw / raw.sum(axis=1, keepdims=True)
    edges = np.cumsum(raw, axis=1)
    chosen: Numbers = np.sum((uniform * edges[:, -1])[:, None] >= edges[:, :-1], axis=1)
    return chosen


def _outputs(policy: AbstractPolicy) -> Map | None:
    """Logits or means of a batch, where NumPy can have them."""
    if isinstance(policy, Tabular):
        table = np.asarray(policy.table)
        return lambda seen: np.asarray(table[seen])
    if not isinstance(policy, MLPSoftmax | MLPGaussian | ProductSoftmax | LinearSoftmax | LinearGaussian):
        return None
    features = _features(policy.features)
    if features is None:
        return None
    if isinstance(policy, LinearSoftmax | LinearGaussian):
        weights = np.asarray(policy.weights).reshape(-1, policy.features.size).T
        return lambda seen: np.asarray(features(seen) @ weights)
    return partial(_forward, features, _layers(policy.network))


def _layers(network: Network) -> list[tuple[Numbers, Numbers]]:
    return [(np.asarray(layer.weight).T, np.asarray(layer.bias)) for layer in network.layers]


def _forward(features: Map, layers: list[tuple[Numbers, Numbers]], seen: Numbers) -> Numbers:
    values = features(seen)
    for weight, bias in layers[:-1]:
        values = np.tanh(values @ weight + bias)
    weight, bias = layers[-1]
    return np.asarray(values @ weight + bias)


def _features(features: AbstractFeatures) -> Map | None:
    if isinstance(features, Raw):
        return lambda seen: seen.reshape(len(seen), -1)
    if isinstance(features, OneHot):
        rows = np.eye(features.states)
        return lambda seen: np.asarray(rows[seen])
    if isinstance(features, Bias):
        inner = _features(features.features)
        if inner is None:
            return None
        return lambda seen: np.concatenate([inner(seen), np.ones((len(seen), 1))], axis=1)
    return _scaling(features) if isinstance(features, Scaled) else None


def _scaling(features: Scaled) -> Map:
    low, high, (first, last) = np.asarray(features.low), np.asarray(features.high), features.onto
    slope = (last - first) / (high - low)
    shift = first - low * slope
    if np.all(slope == 1) and not shift.any():
        return lambda seen: seen.reshape(len(seen), -1)
    return lambda seen: np.asarray(seen.reshape(len(seen), -1) * slope + shift)


@eqx.filter_jit
def _draw(key: Key[Array, ""], block: Any, policy: AbstractPolicy, shape: tuple[int, ...]) -> PyTree:
    return policy.draw(jax.random.fold_in(key, block), shape)


@eqx.filter_jit
def _sample(policy: AbstractPolicy, noise: PyTree, step: Any, seen: Any) -> Array:
    now = jax.tree.map(lambda x: x[step], noise)
    return jax.vmap(lambda one, observation: policy.sample(one, observation)[0])(now, seen)
