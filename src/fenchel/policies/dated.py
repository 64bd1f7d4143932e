"""A policy for each date: affine in what is observed then."""

from typing import final

import jax.numpy as jnp
from gymnasium.spaces import Box
from jaxtyping import Array, Float, Num

from fenchel.errors import InputError, is_whole, require
from fenchel.policies.checks import HasSpaces
from fenchel.policies.features import flat
from fenchel.policies.gaussian import AbstractGaussian


@final
class DatedGaussian(AbstractGaussian):
    """μ(s) = c_k + W_k s' at step k, where the observation s = (s', k) ends with the step.

    Arguments:
        log_std: log σ, shaped like an action, which is a vector.
        constants: the action at each step where s' = 0.
        slopes: for each step, and each coordinate of the action, a number per number of s'.

    >>> import jax.numpy as jnp
    >>> policy = DatedGaussian(jnp.zeros(1), jnp.array([[2.0], [3.0]]), jnp.array([[[1.0]], [[0.0]]]))
    >>> policy.mode(jnp.array([0.5, 0.0])).tolist(), policy.mode(jnp.array([0.5, 1.0])).tolist()
    ([2.5], [3.0])
    """

    constants: Float[Array, "steps action"]
    slopes: Float[Array, "steps action features"]

    def __check_init__(self) -> None:
        shape, actions = jnp.shape(self.constants), jnp.shape(self.log_std)
        fits = len(shape) == 2 and shape[1:] == actions
        require(fits, "constants.shape", shape, f"must be (steps, *{actions}), the shape of log_std")
        own = jnp.shape(self.slopes)
        remedy = f"must be {shape} and the count of numbers observed before the step"
        require(own[:-1] == shape, "slopes.shape", own, remedy)

    def mean(self, observation: Num[Array, "..."]) -> Float[Array, " action"]:
        """The affine function of the step; from the last step on, that of the last step."""
        steps, _, size = self.slopes.shape
        seen = flat(observation, size + 1).astype(self.slopes.dtype)
        now = jnp.clip(seen[-1], 0, steps - 1).astype(jnp.int32)
        return self.constants[now] + self.slopes[now] @ seen[:-1]


def dated_shape(env: HasSpaces) -> tuple[int, int, int]:
    """Steps, numbers of an action, and numbers observed before the step, of an environment that shows it."""
    horizon = getattr(env, "horizon", None)
    remedy = "has parameters for each step: the environment must have a horizon"
    if not is_whole(horizon):
        raise InputError("policy", "dated", remedy)
    seen, actions = env.observation_space, env.action_space
    vectors = all(isinstance(space, Box) and len(space.shape) == 1 for space in (seen, actions))
    remedy = f"is for vectors of real numbers, and observations are {seen}, actions {actions}"
    require(vectors, "policy", "dated", remedy)
    assert isinstance(seen, Box) and isinstance(actions, Box) and horizon is not None
    last = (float(seen.low[-1]), float(seen.high[-1]))
    remedy = (
        f"needs the step as the last number observed, and its bounds are {last}: observe='return' adds it"
    )
    require(last == (0.0, float(horizon)), "policy", "dated", remedy)
    return int(horizon), actions.shape[0], seen.shape[0] - 1
