"""The contract of an environment: pure functions, no auto-reset, the episode is the unit."""

from abc import abstractmethod
from typing import Any, NamedTuple

import equinox as eqx
import gymnasium
import jax
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, Num, PyTree

from fenchel.errors import InputError
from fenchel.noise import uniforms


class TimeStep(NamedTuple):
    """What the world answers to an action."""

    observation: Num[Array, "..."]
    reward: Float[Array, ""]
    terminated: Bool[Array, ""]
    truncated: Bool[Array, ""]


class Outcomes(NamedTuple):
    """Everything that chance can do in one call of `reset` or `step`."""

    noise: PyTree
    """One noise per outcome, along the first axis."""
    probability: np.ndarray[Any, np.dtype[np.float64]]


def coins(noise: PyTree, probability: np.ndarray[Any, np.dtype[np.float64]]) -> Outcomes:
    """The outcomes among these that can happen."""
    possible = probability > 0
    return Outcomes(jax.tree.map(lambda x: x[possible], noise), probability[possible])


class AbstractEnvironment(eqx.Module):
    """A simulator of one episode at a time.

    All randomness is drawn before it is used: `reset` and `step` are deterministic in the noise they are
    given. By default that noise is a PRNG key, so `reset(key)` and `step(key, state, action)` may call
    `jax.random`; an environment that overrides `draw` gets what it returns instead.
    What follows the end of an episode is ignored, so `step` need not guard against it.
    """

    horizon: eqx.AbstractVar[int]
    """The most steps an episode can have."""
    discount: eqx.AbstractVar[float]
    """Factor per step on the rewards that make up the return."""

    @property
    @abstractmethod
    def observation_space(self) -> gymnasium.Space[Any]:
        """What the policy sees: a `Box`, or a `Discrete` for an index of a finite state."""

    @property
    @abstractmethod
    def action_space(self) -> gymnasium.Space[Any]:
        """What it may do: `Discrete` or `Box`."""

    @abstractmethod
    def reset(self, noise: PyTree) -> tuple[PyTree, Num[Array, "..."]]:
        """The first state and observation of an episode."""

    @abstractmethod
    def step(self, noise: PyTree, state: PyTree, action: Num[Array, "..."]) -> tuple[PyTree, TimeStep]:
        """The next state, and what is seen of it."""

    def draw(self, key: Key[Array, ""], shape: tuple[int, ...]) -> PyTree:
        """Noise for `shape` many calls of `reset` or `step`."""
        return jax.random.split(key, shape)

    def outcomes(self) -> Outcomes | None:
        """What chance can do in a step; None where that is more than a few things. For exact answers."""
        return None

    def first_outcomes(self, points: int = 1) -> Outcomes | None:
        """What chance can do in `reset`; `points` equally likely things stand for a continuous start."""
        return None

    def spread(self, key: Key[Array, ""], shape: tuple[int, ...]) -> PyTree:
        """Noise like that of `draw`, whose last axis covers what can happen evenly, where that is possible.

        Each row by itself has the same law; means over the last axis scatter less.
        """
        return self.draw(key, shape)

    @property
    def differentiable(self) -> bool:
        """Whether the return can be differentiated in the actions (almost everywhere)."""
        return False

    @property
    def multilinear(self) -> bool:
        """Whether the return is affine in each action while the others are held (almost everywhere)."""
        return False

    @property
    def observation_tells_all(self) -> bool:
        """Whether the observation tells all that matters of the past, step and reward so far included.

        Its last number is the step then.
        """
        return False

    @property
    def first_action(self) -> tuple[float, ...] | None:
        """A continuous action for a policy to begin with, where one suggests itself."""
        return None

    @property
    def risk_grid(self) -> tuple[float, ...] | None:
        """Risk aversions of a mean-variance frontier, where the scale of the return suggests some."""
        return None

    @property
    def feature_grid(self) -> tuple[tuple[float, ...], ...] | None:
        """Centres for radial features of all or the first numbers observed, where some suggest themselves."""
        return None

    @property
    def state_count(self) -> int | None:
        """How many decision states `index` tells apart; None where there is no such numbering."""
        return None

    @property
    def index_tells_all(self) -> bool:
        """Whether `index` tells all that matters of the past, the reward so far included."""
        return False

    def index(self, state: PyTree) -> Int[Array, ""]:
        """The number of a decision state, from 0 to `state_count` − 1; any of these after the last one."""
        name = type(self).__name__
        raise InputError("state_count", self.state_count, f"{name} does not number its states")


class AbstractUniformEnvironment(AbstractEnvironment):
    """An environment whose noise is `noise_size` uniforms a step: the fast kind."""

    noise_size: eqx.AbstractClassVar[int]

    def draw(self, key: Key[Array, ""], shape: tuple[int, ...]) -> Float[Array, "... noise_size"]:
        """Uniforms on [0, 1), `noise_size` of them in the last axis."""
        return uniforms(key, (*shape, self.noise_size))
