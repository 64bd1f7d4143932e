"""The contract of a policy: a distribution over actions whose parameters are its array leaves."""

from abc import abstractmethod

import equinox as eqx
import jax
from jaxtyping import Array, Float, Key, Num, PyTree

from fenchel.errors import InputError


class AbstractPolicy(eqx.Module):
    """A stochastic policy. Its inexact array leaves are the parameters θ; everything else is fixed."""

    @abstractmethod
    def sample(
        self, noise: PyTree, observation: Num[Array, "..."]
    ) -> tuple[Num[Array, "..."], Float[Array, ""]]:
        """An action and the logarithm of its probability (or density)."""

    @abstractmethod
    def log_prob(self, observation: Num[Array, "..."], action: Num[Array, "..."]) -> Float[Array, ""]:
        """The logarithm of π(a|s), differentiable in the parameters."""

    @abstractmethod
    def mode(self, observation: Num[Array, "..."]) -> Num[Array, "..."]:
        """The likeliest action."""

    def entropy(self, observation: Num[Array, "..."]) -> Float[Array, ""]:
        """How spread out π(·|s) is, differentiable in the parameters; for methods that reward it."""
        name = type(self).__name__
        raise InputError("entropy", name, "is not defined for this policy: define it, or set entropy to 0")

    def score_terms(
        self, observation: Num[Array, "..."], action: Num[Array, "..."]
    ) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """`log_prob` and `entropy` together; a policy that computes both from the same numbers says how."""
        return self.log_prob(observation, action), self.entropy(observation)

    def draw(self, key: Key[Array, ""], shape: tuple[int, ...]) -> PyTree:
        """Noise for `shape` many calls of `sample`; a PRNG key each unless overridden."""
        return jax.random.split(key, shape)
