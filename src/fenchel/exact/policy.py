"""Policies of a finite problem, and what they are worth."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np
from jaxtyping import Float, Int

from fenchel.errors import InputError, require
from fenchel.exact.law import ReturnLaw
from fenchel.exact.problem import Array, FiniteProblem

if TYPE_CHECKING:
    from fenchel.policies.tabular import DirectTabular


@dataclass(frozen=True)
class FinitePolicy:
    """Probabilities of the actions in every state of a finite problem, layer by layer.

    The states know the reward so far, so this is as general as a policy need be: no function of the whole
    history does better for any objective of the return.
    """

    problem: FiniteProblem
    chances: tuple[Float[Array, "n A"], ...]

    @classmethod
    def of_actions(cls, problem: FiniteProblem, actions: Sequence[Int[Array, " n"]]) -> Self:
        """The deterministic policy that takes these actions."""
        return cls(problem, tuple(np.eye(problem.actions)[chosen] for chosen in actions))

    @cached_property
    def law(self) -> ReturnLaw:
        """The exact distribution of the return."""
        found = np.zeros(len(self.problem.returns))
        for layer, visits in zip(self.problem.layers, self.visits, strict=True):
            found += visits.ravel() @ layer.ends
        return ReturnLaw(self.problem.returns, found)

    @cached_property
    def visits(self) -> tuple[Float[Array, "n A"], ...]:
        """Probability that each state is reached and each action taken there."""
        reached, found = self.problem.start, []
        for layer, chances in zip(self.problem.layers, self.chances, strict=True):
            visits = reached[:, None] * chances
            found.append(visits)
            reached = np.asarray(visits.ravel() @ layer.moves)
        return tuple(found)

    @property
    def actions(self) -> tuple[Int[Array, " n"], ...]:
        """The likeliest action in every state."""
        return tuple(np.argmax(chances, axis=1) for chances in self.chances)

    def tabular(self) -> "DirectTabular":
        """The policy as a table over the numbers of the environment's states (`observe="index"`)."""
        import jax.numpy as jnp

        from fenchel.policies.tabular import DirectTabular

        count = 1 + max(int(layer.states.max(initial=0)) for layer in self.problem.layers)
        table = np.full((count, self.problem.actions), 1 / self.problem.actions)
        seen = np.zeros(count, bool)
        for layer, chances, visits in zip(self.problem.layers, self.chances, self.visits, strict=True):
            reached = visits.sum(axis=1) > 0
            numbers = layer.states[reached]
            again = seen[numbers] & np.any(table[numbers] != chances[reached], axis=1)
            if np.any(again) or len(np.unique(numbers)) < len(numbers):
                remedy = "acts by the reward so far, which the number of a state does not tell"
                raise InputError("policy", self.problem.name, remedy)
            table[numbers], seen[numbers] = chances[reached], True
        return DirectTabular(jnp.asarray(table))


@dataclass(frozen=True)
class Mixture:
    """One of two policies, drawn before the first step.

    Arguments:
        policies: the two.
        weight: probability of the first.
    """

    policies: tuple[FinitePolicy, FinitePolicy]
    weight: float

    def __post_init__(self) -> None:
        require(0 <= self.weight <= 1, "weight", self.weight, "must be from 0 to 1")

    @cached_property
    def law(self) -> ReturnLaw:
        """The exact distribution of the return."""
        first, second = self.policies
        return first.law.mixed(second.law, self.weight)


def together(first: FinitePolicy, second: FinitePolicy, weight: float) -> FinitePolicy:
    """The policy that visits states and actions as often as a mixture of two, and so has its law."""
    rows = []
    for one, other, old in zip(first.visits, second.visits, first.chances, strict=True):
        visits = weight * one + (1 - weight) * other
        total = visits.sum(axis=1, keepdims=True)
        rows.append(np.where(total > 0, visits / np.where(total > 0, total, 1), old))
    return FinitePolicy(first.problem, tuple(rows))
