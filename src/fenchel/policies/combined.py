"""Features made of other features."""

from typing import final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Num

from fenchel.errors import require_count
from fenchel.policies.features import AbstractFeatures, flat


@final
class Bias(AbstractFeatures):
    """Other features with a constant 1 appended.

    >>> import jax.numpy as jnp
    >>> from fenchel.policies import Raw
    >>> Bias(Raw(2))(jnp.array([0.5, 3.0])).tolist()
    [0.5, 3.0, 1.0]
    """

    features: AbstractFeatures

    @property
    def size(self) -> int:
        """One more than that of the features."""
        return self.features.size + 1

    @property
    def constant(self) -> tuple[float, ...]:
        """Zero but for the last."""
        return (0.0,) * self.features.size + (1.0,)

    def __call__(self, observation: Num[Array, "..."]) -> Float[Array, " size"]:
        """(φ(s), 1)."""
        values = self.features(observation)
        return jnp.concatenate([values, jnp.ones(1, values.dtype)])


@final
class Beside(AbstractFeatures):
    """Features of the first numbers of an observation beside features of the others.

    Arguments:
        first: features of the first numbers.
        split: how many those are.
        others: features of the numbers after them.

    >>> import jax.numpy as jnp
    >>> from fenchel.policies import Raw, Scaled
    >>> Beside(Raw(1), 1, Scaled((0.0, 0.0), (1.0, 20.0)))(jnp.array([7.0, 0.5, 20.0])).tolist()
    [7.0, 0.0, 1.0]
    """

    first: AbstractFeatures
    split: int = eqx.field(static=True)
    others: AbstractFeatures

    def __check_init__(self) -> None:
        require_count("split", self.split)

    @property
    def size(self) -> int:
        """The sizes of both."""
        return self.first.size + self.others.size

    @property
    def constant(self) -> tuple[float, ...] | None:
        """That of the first features."""
        constant = self.first.constant
        return None if constant is None else (*constant, *(0.0,) * self.others.size)

    def __call__(self, observation: Num[Array, "..."]) -> Float[Array, " size"]:
        """(φ₁(s₁, …), φ₂(…, s_n))."""
        values = flat(observation, jnp.size(observation))
        return jnp.concatenate([self.first(values[: self.split]), self.others(values[self.split :])])
