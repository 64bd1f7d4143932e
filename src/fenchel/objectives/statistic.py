"""Objectives that are functions of the law of the return."""

from abc import abstractmethod
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from fenchel.objectives.base import AbstractObjective


class AbstractStatistic(AbstractObjective):
    """A function of the law of the return that is no expectation of a ψ with a scalar dual.

    An episode weighs what its return adds to the value of the law: the influence, which is the derivative of
    `of_law` in the chance of that return.
    """

    has_dual: ClassVar[bool] = False

    @abstractmethod
    def of_law(self, values: Float[Array, " n"], chances: Float[Array, " n"]) -> Float[Array, ""]:
        """The objective of a law, differentiable in its chances; a value may have chance 0 or occur twice."""

    def best_dual(self, outcomes: Float[Array, " m ..."]) -> Float[Array, ""]:
        """No dual: zero."""
        return jnp.zeros((), outcomes.dtype)

    def value(self, outcomes: Float[Array, " m ..."]) -> Float[Array, ""]:
        """The objective of a law in which every episode has the same chance."""
        return self.of_law(outcomes, jnp.full(outcomes.shape, 1 / outcomes.shape[0], outcomes.dtype))

    def dual_slope(self, outcomes: Float[Array, " m ..."], dual: Float[Array, ""]) -> Float[Array, ""]:
        """No dual: zero."""
        return jnp.zeros_like(dual)

    def weights(
        self,
        outcomes: Float[Array, " m ..."],
        dual: Float[Array, ""],
        sample: Float[Array, " n ..."] | None = None,
    ) -> Float[Array, " m"]:
        """The influence of each return on the value of the sample."""
        law = outcomes if sample is None else sample
        values = jnp.concatenate([law, outcomes])
        held = jnp.full(law.shape, 1 / law.shape[0], law.dtype)

        def value(extra: Float[Array, " m"]) -> Float[Array, ""]:
            return self.of_law(values, jnp.concatenate([held, extra]))

        influence: Float[Array, " m"] = jax.grad(value)(jnp.zeros_like(outcomes))
        return influence - jnp.mean(influence)
