"""The contract of a solver: the order in which the policy and the dual move."""

from abc import abstractmethod

import equinox as eqx
from jaxtyping import Array, Float, Int, Key, PyTree

from fenchel.estimators.base import AbstractEstimator
from fenchel.objectives.base import AbstractObjective
from fenchel.policies.base import AbstractPolicy


class SolverState(eqx.Module):
    """What the next step needs: the iterate x = (θ, y) and whatever the solver remembers."""

    policy: AbstractPolicy
    dual: Float[Array, ""]
    memory: PyTree
    multiplier: Float[Array, ""] | None = None
    """Of a constraint, where there is one."""


class StepInfo(eqx.Module):
    """What a step saw: the returns of its episodes."""

    returns: Float[Array, " m"]


class AbstractSolver(eqx.Module):
    """A frozen description of a method. All state is passed explicitly; all randomness is drawn first."""

    @abstractmethod
    def init(
        self, policy: AbstractPolicy, dual: Float[Array, ""], estimator: AbstractEstimator | None = None
    ) -> SolverState:
        """The state before the first step; an estimator may have something to remember."""

    @abstractmethod
    def draw(self, key: Key[Array, ""], policy: AbstractPolicy, estimator: AbstractEstimator) -> PyTree:
        """The noise of one step."""

    @abstractmethod
    def step(
        self,
        noise: PyTree,
        iteration: Int[Array, ""],
        state: SolverState,
        estimator: AbstractEstimator,
        objective: AbstractObjective,
    ) -> tuple[SolverState, StepInfo]:
        """One iteration."""

    @abstractmethod
    def step_sizes(self, iteration: Int[Array, ""]) -> Float[Array, " b"]:
        """Step size of each block in this iteration."""

    @property
    @abstractmethod
    def batches(self) -> int:
        """How many batches of episodes one step samples."""
