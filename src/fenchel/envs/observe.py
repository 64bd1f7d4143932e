"""Wrappers that change what the policy sees, and nothing else."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple, final

import equinox as eqx
import gymnasium
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Box, Discrete
from jaxtyping import Array, Float, Int, Key, Num, PyTree

from fenchel.envs.base import AbstractEnvironment, Outcomes, TimeStep
from fenchel.envs.spaces import float_box
from fenchel.errors import InputError, require


class AbstractObserver(AbstractEnvironment):
    """The inner environment with another observation: same noise, rewards, ends and state numbers."""

    env: eqx.AbstractVar[AbstractEnvironment]

    @property  # type: ignore[misc]
    def horizon(self) -> int:  # type: ignore[override]
        """That of the inner environment."""
        return self.env.horizon

    @property  # type: ignore[misc]
    def discount(self) -> float:  # type: ignore[override]
        """That of the inner environment."""
        return self.env.discount

    @property
    def action_space(self) -> gymnasium.Space[Any]:
        """That of the inner environment."""
        return self.env.action_space

    @property
    def state_count(self) -> int | None:
        """That of the inner environment."""
        return self.env.state_count

    @property
    def index_tells_all(self) -> bool:
        """Whether that of the inner environment does."""
        return self.env.index_tells_all

    @property
    def differentiable(self) -> bool:
        """Whether the return of the inner environment is."""
        return self.env.differentiable

    @property
    def multilinear(self) -> bool:
        """Whether the return of the inner environment is."""
        return self.env.multilinear

    @property
    def first_action(self) -> tuple[float, ...] | None:
        """That of the inner environment."""
        return self.env.first_action

    @property
    def risk_grid(self) -> tuple[float, ...] | None:
        """That of the inner environment."""
        return self.env.risk_grid

    def draw(self, key: Key[Array, ""], shape: tuple[int, ...]) -> PyTree:
        """The noise of the inner environment."""
        return self.env.draw(key, shape)

    def spread(self, key: Key[Array, ""], shape: tuple[int, ...]) -> PyTree:
        """That of the inner environment."""
        return self.env.spread(key, shape)

    def outcomes(self) -> Outcomes | None:
        """Those of the inner environment."""
        return self.env.outcomes()

    def first_outcomes(self, points: int = 1) -> Outcomes | None:
        """Those of the inner environment."""
        return self.env.first_outcomes(points)


class ReturnState(NamedTuple):
    """The inner state, the reward so far, the steps so far, and the factor on the next reward."""

    inner: PyTree
    so_far: Float[Array, ""]
    step: Int[Array, ""]
    factor: Float[Array, ""]


@final
class ObserveReturn(AbstractObserver):
    """Appends [Σ_{j<k} γ^j r_j, k] to the observation.

    With both, the best policy for E[ψ(R, y)] at a fixed y is a function of the observation.

    Arguments:
        env: an environment that observes a `Box`; it is flattened.

    Example:
        >>> import jax.numpy as jnp
        >>> from fenchel.envs import ObserveReturn, OptimalStopping
        >>> env = ObserveReturn(OptimalStopping())
        >>> state, observation = env.reset(jnp.zeros(1))
        >>> _, seen = env.step(jnp.zeros(1), state, jnp.asarray(0))
        >>> [round(float(number), 6) for number in seen.observation]
        [2.5, 1.0, -0.1, 1.0]
    """

    env: AbstractEnvironment

    def __init__(self, env: AbstractEnvironment):
        self.env = env

    def __check_init__(self) -> None:
        space = self.env.observation_space
        remedy = "the reward so far can only be appended to a Box; wrap before the index is taken"
        require(isinstance(space, Box), "observation_space", space, remedy)

    @property
    def observation_space(self) -> Box:
        """The inner box with an unbounded number and a step count more."""
        space = self.env.observation_space
        assert isinstance(space, Box)
        low, high = np.ravel(space.low).tolist(), np.ravel(space.high).tolist()
        return float_box([*low, -np.inf, 0], [*high, np.inf, self.horizon])

    @property
    def feature_grid(self) -> tuple[tuple[float, ...], ...] | None:
        """That of the inner environment, for the numbers it shows; the two appended have none."""
        return self.env.feature_grid

    def index(self, state: ReturnState) -> Int[Array, ""]:
        """The number of the inner state; it does not tell rewards so far apart."""
        return self.env.index(state.inner)

    def reset(self, noise: PyTree) -> tuple[ReturnState, Float[Array, " size"]]:
        """Nothing is earned yet."""
        inner, observation = self.env.reset(noise)
        state = _nothing_earned(inner)
        return state, _append(observation, state)

    def step(
        self, noise: PyTree, state: ReturnState, action: Num[Array, "..."]
    ) -> tuple[ReturnState, TimeStep]:
        """An inner step, whose discounted reward is added up."""
        after, seen = _earn(self.env, noise, state, action)
        return after, seen._replace(observation=_append(seen.observation, after))


@final
class ObserveIndex(AbstractObserver):
    """Replaces the observation by the number of the state, for tabular policies.

    Arguments:
        env: an environment whose `state_count` is not None.

    Example:
        >>> import jax.numpy as jnp
        >>> from fenchel.envs import AmericanOption, ObserveIndex
        >>> env = ObserveIndex(AmericanOption())
        >>> state, observation = env.reset(jnp.zeros(1))
        >>> int(observation), int(env.observation_space.n)
        (0, 210)
    """

    env: AbstractEnvironment

    def __init__(self, env: AbstractEnvironment):
        self.env = env

    def __check_init__(self) -> None:
        if self.env.state_count is None:
            name = type(self.env).__name__
            raise InputError("env", name, f"has no numbered states to observe; {_cure(self.env)}")

    @property
    def observation_space(self) -> Discrete:
        """0, …, state_count − 1."""
        count = self.env.state_count
        assert count is not None
        return Discrete(count)

    def index(self, state: PyTree) -> Int[Array, ""]:
        """The number of the inner state."""
        return self.env.index(state)

    def reset(self, noise: PyTree) -> tuple[PyTree, Int[Array, ""]]:
        """The number of the first state."""
        state, _ = self.env.reset(noise)
        return state, self.index(state)

    def step(self, noise: PyTree, state: PyTree, action: Num[Array, "..."]) -> tuple[PyTree, TimeStep]:
        """An inner step; after the end the number is that of no decision, but in range."""
        after, seen = self.env.step(noise, state, action)
        return after, seen._replace(observation=self.index(after))


@final
class ObserveBins(AbstractObserver):
    """Replaces the observation by the number of the state and that of a bin of the reward so far.

    For tabular policies of problems whose index does not tell the reward so far.

    Arguments:
        env: an environment whose `state_count` is not None.
        edges: between the bins, rising.

    Example:
        >>> import jax.numpy as jnp
        >>> from fenchel.envs import Portfolio
        >>> env = ObserveBins(Portfolio(horizon=3), edges=(1.0, 1.2))
        >>> int(env.observation_space.n), int(env.reset(jnp.ones(2))[1])
        (18, 0)
    """

    env: AbstractEnvironment
    edges: tuple[float, ...] = eqx.field(static=True)

    def __init__(self, env: AbstractEnvironment, edges: Sequence[float]):
        self.env = env
        self.edges = tuple(float(edge) for edge in edges)

    def __check_init__(self) -> None:
        if self.env.state_count is None:
            name = type(self.env).__name__
            raise InputError("env", name, f"has no numbered states to observe; {_cure(self.env)}")
        rising = all(low < high for low, high in pairwise(self.edges))
        require(rising, "edges", self.edges, "must rise")

    @property
    def observation_space(self) -> Discrete:
        """A number for every state and bin."""
        return Discrete(self._states * (len(self.edges) + 1))

    @property
    def state_count(self) -> int:
        """The same."""
        return int(self.observation_space.n)

    def index(self, state: ReturnState) -> Int[Array, ""]:
        """Number of the bin times the number of states, plus that of the state."""
        place = jnp.searchsorted(jnp.asarray(self.edges, state.so_far.dtype), state.so_far, side="right")
        return place.astype(jnp.int32) * self._states + self.env.index(state.inner)

    def reset(self, noise: PyTree) -> tuple[ReturnState, Int[Array, ""]]:
        """Nothing is earned yet."""
        state = _nothing_earned(self.env.reset(noise)[0])
        return state, self.index(state)

    def step(
        self, noise: PyTree, state: ReturnState, action: Num[Array, "..."]
    ) -> tuple[ReturnState, TimeStep]:
        """An inner step, whose discounted reward is added up."""
        after, seen = _earn(self.env, noise, state, action)
        return after, seen._replace(observation=self.index(after))

    @property
    def _states(self) -> int:
        count = self.env.state_count
        assert count is not None
        return count


def _nothing_earned(inner: PyTree) -> ReturnState:
    return ReturnState(inner, jnp.zeros(()), jnp.zeros((), jnp.int32), jnp.ones(()))


def _earn(
    env: AbstractEnvironment, noise: PyTree, state: ReturnState, action: Num[Array, "..."]
) -> tuple[ReturnState, TimeStep]:
    inner, seen = env.step(noise, state.inner, action)
    so_far = state.so_far + state.factor * seen.reward
    return ReturnState(inner, so_far, state.step + 1, state.factor * env.discount), seen


def _append(observation: Num[Array, "..."], state: ReturnState) -> Float[Array, " size"]:
    flat = jnp.ravel(observation).astype(state.so_far.dtype)
    return jnp.concatenate([flat, state.so_far[None], state.step.astype(flat.dtype)[None]])


def _cure(env: AbstractEnvironment) -> str:
    spread = getattr(env, "start_spread", 0)
    return "set start_spread to 0" if spread else "observe its state, or define state_count and index"
