"""Policies without chance, made of others."""

from typing import final

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Num, PyTree

from fenchel.policies.base import AbstractPolicy
from fenchel.policies.categorical import AbstractDiscrete


@final
class Greedy(AbstractDiscrete):
    """Always the likeliest action of another policy.

    >>> import jax.numpy as jnp
    >>> from fenchel.policies import Tabular
    >>> Greedy(Tabular(jnp.array([[2.0]]))).probabilities(jnp.array(0)).tolist()
    [0.0, 1.0]
    """

    policy: AbstractDiscrete

    def probabilities(self, observation: Num[Array, "..."]) -> Float[Array, " actions"]:
        """One for that action."""
        chances = self.policy.probabilities(observation)
        return jax.nn.one_hot(jnp.argmax(chances), chances.shape[-1], dtype=chances.dtype)

    def log_prob(self, observation: Num[Array, "..."], action: Num[Array, ""]) -> Float[Array, ""]:
        """Zero or minus infinity."""
        return jnp.log(self.probabilities(observation)[action])


@final
class Central(AbstractPolicy):
    """Always the mode of another policy, for continuous actions."""

    policy: AbstractPolicy

    def sample(
        self, noise: PyTree, observation: Num[Array, "..."]
    ) -> tuple[Num[Array, "..."], Float[Array, ""]]:
        """The mode, whatever the noise."""
        return self.policy.mode(observation), jnp.zeros(())

    def log_prob(self, observation: Num[Array, "..."], action: Num[Array, "..."]) -> Float[Array, ""]:
        """Zero at the mode, minus infinity elsewhere."""
        return jnp.where(jnp.all(action == self.policy.mode(observation)), 0.0, -jnp.inf)

    def mode(self, observation: Num[Array, "..."]) -> Num[Array, "..."]:
        """That of the other policy."""
        return self.policy.mode(observation)

    def draw(self, key: jax.Array, shape: tuple[int, ...]) -> PyTree:
        """The noise that the other policy would have."""
        return self.policy.draw(key, shape)


def without_chance(policy: AbstractPolicy) -> AbstractPolicy:
    """The policy that always does what `policy` is likeliest to do."""
    if isinstance(policy, Greedy | Central):
        return policy
    return Greedy(policy) if isinstance(policy, AbstractDiscrete) else Central(policy)
