"""Gaussian policies squashed onto the bounds of an action."""

from typing import final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, Num, PyTree

from fenchel.errors import require
from fenchel.policies.base import AbstractPolicy
from fenchel.policies.features import floats
from fenchel.policies.gaussian import AbstractGaussian


@final
class SquashedGaussian(AbstractPolicy):
    """a = low + (high − low) (1 + tanh z)/2, with z drawn by a Gaussian policy.

    Arguments:
        policy: draws z, a vector.
        low: bounds of the action, a number per coordinate.
        high: the same from above.

    >>> import jax.numpy as jnp
    >>> from fenchel.policies import LinearGaussian, Raw
    >>> inner = LinearGaussian(jnp.zeros(1), jnp.zeros((1, 2)), Raw(2))
    >>> SquashedGaussian(inner, (0.0,), (4.0,)).mode(jnp.ones(2)).tolist()
    [2.0]
    """

    policy: AbstractGaussian
    low: tuple[float, ...] = eqx.field(static=True, converter=floats)
    high: tuple[float, ...] = eqx.field(static=True, converter=floats)

    def __check_init__(self) -> None:
        shape = jnp.shape(self.policy.log_std)
        for name in ("low", "high"):
            bound = getattr(self, name)
            require(shape == (len(bound),), name, bound, f"must have a number per coordinate of z, {shape}")
        widths = np.array(self.high) - np.array(self.low)
        remedy = f"must be finite and above low = {self.low}"
        require(bool(np.all(np.isfinite(widths) & (widths > 0))), "high", self.high, remedy)

    def sample(
        self, noise: PyTree, observation: Num[Array, "..."]
    ) -> tuple[Float[Array, " n"], Float[Array, ""]]:
        """An action, differentiable in the parameters (pathwise), and its log density."""
        inner, log_prob = self.policy.sample(noise, observation)
        return self._squash(inner), log_prob - self._log_slope(inner)

    def log_prob(self, observation: Num[Array, "..."], action: Float[Array, " n"]) -> Float[Array, ""]:
        """Log π_z(z) − Σ_i log |da_i/dz_i|; an action at a bound counts as one a rounding error inside."""
        low, width = self._box(action)
        most = 1 - jnp.finfo(action.dtype).eps  # type: ignore[no-untyped-call]
        inner = jnp.arctanh(jnp.clip(2 * (action - low) / width - 1, -most, most))
        return self.policy.log_prob(observation, inner) - self._log_slope(inner)

    def mode(self, observation: Num[Array, "..."]) -> Float[Array, " n"]:
        """The median: the likeliest z, squashed."""
        return self._squash(self.policy.mode(observation))

    def draw(self, key: Key[Array, ""], shape: tuple[int, ...]) -> PyTree:
        """That of the Gaussian."""
        return self.policy.draw(key, shape)

    def _box(self, like: Float[Array, " n"]) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
        low = jnp.asarray(self.low, like.dtype)
        return low, jnp.asarray(self.high, like.dtype) - low

    def _squash(self, inner: Float[Array, " n"]) -> Float[Array, " n"]:
        low, width = self._box(inner)
        return low + width * jax.nn.sigmoid(2 * inner)

    def _log_slope(self, inner: Float[Array, " n"]) -> Float[Array, ""]:
        """Σ_i log (high_i − low_i)/2 (1 − tanh² z_i), without overflow."""
        _, width = self._box(inner)
        tails = jax.nn.softplus(-2 * inner) + jax.nn.softplus(2 * inner)
        return jnp.sum(jnp.log(2 * width) - tails)
