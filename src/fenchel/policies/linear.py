"""Policies whose logits are linear in features."""

from typing import final

import jax.numpy as jnp
from jaxtyping import Array, Float, Num

from fenchel.errors import require
from fenchel.policies.categorical import AbstractCategorical, require_epsilon
from fenchel.policies.features import AbstractFeatures


@final
class LinearSoftmax(AbstractCategorical):
    """π(·|s) = softmax(0, W φ(s)), the policy of the paper's experiments.

    Arguments:
        weights: W, a row for every action but the first, whose logit is zero.
        features: φ.
        epsilon: the least probability of an action.

    >>> import jax.numpy as jnp
    >>> from fenchel.policies import Raw
    >>> LinearSoftmax(jnp.zeros((1, 2)), Raw(2)).probabilities(jnp.array([0.3, 7.0])).tolist()
    [0.5, 0.5]
    """

    weights: Float[Array, "actions-1 features"]
    features: AbstractFeatures

    def __check_init__(self) -> None:
        shape, size = jnp.shape(self.weights), self.features.size
        fits = len(shape) == 2 and shape[0] >= 1 and shape[1] == size
        require(
            fits, "weights.shape", shape, f"must be (actions − 1, {size}), the features having size {size}"
        )
        require_epsilon(self.epsilon, shape[0] + 1)

    def logits(self, observation: Num[Array, "..."]) -> Float[Array, " actions-1"]:
        """W φ(s)."""
        return self.weights @ self.features(observation).astype(self.weights.dtype)
