"""Every path of a small problem, with its probability and its score: exact moments of directions."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from fenchel.errors import require
from fenchel.exact import FiniteProblem, Layer
from fenchel.theory.assumptions import Array

MOST_PATHS = 100_000


@dataclass(frozen=True)
class Play:
    """All paths under a table of logits θ, or under many of them (leading axes).

    With ω the score of a path, E[u(R)] has the gradient E[u ω] and the second derivatives
    E[u (ω ωᵀ − diag(seen · π (1 − π)))].
    """

    chance: Float[Array, "... P"]
    returns: Float[Array, " P"]
    scores: Float[Array, "... P S"]
    """ω = Σ_k ∇ log π(a_k|s_k)."""
    spread: Float[Array, "... P S"]
    """−∇² log of the path's probability, a diagonal."""

    def mean(self, utility: Float[Array, "... P"]) -> Float[Array, "..."]:
        """E[u]."""
        return np.asarray(np.sum(self.chance * utility, axis=-1))

    def slope(self, utility: Float[Array, "... P"]) -> Float[Array, "... S"]:
        """E[u ω]: for a function of the return, ∇E[u(R)]."""
        return np.asarray(np.einsum("...p,...ps->...s", self.chance * utility, self.scores))

    def curvature(self, utility: Float[Array, "... P"]) -> Float[Array, "... S S"]:
        """∇² E[u(R)]."""
        weighted = (self.chance * utility)[..., None]
        found: Array = np.swapaxes(weighted * self.scores, -1, -2) @ self.scores
        diagonal = np.sum(weighted * self.spread, axis=-2)
        return np.asarray(found - diagonal[..., None] * np.eye(diagonal.shape[-1]))

    @property
    def mean_return(self) -> Float[Array, "..."]:
        """J."""
        return self.mean(self.returns)


@dataclass(frozen=True)
class Paths:
    """All that can happen in a problem of two actions whose states are numbered.

    Arguments:
        chance: probability that the world lets the path happen.
        returns: what it earns.
        seen: 1 for the states on the path.
        done: 1 for those where it took action 1.
    """

    chance: Float[Array, " P"]
    returns: Float[Array, " P"]
    seen: Float[Array, "P S"]
    done: Float[Array, "P S"]

    @classmethod
    def of(cls, problem: FiniteProblem, states: int) -> "Paths":
        """All paths of a problem whose observations are numbers below `states`."""
        found: list[tuple[float, float, list[tuple[int, int]]]] = []
        for state, chance in enumerate(problem.start):
            _follow(problem, 0, state, float(chance), [], found)
        seen, done = np.zeros((2, len(found), states))
        for path, (_, _, steps) in enumerate(found):
            for number, action in steps:
                seen[path, number], done[path, number] = 1, action
        return cls(np.array([one[0] for one in found]), np.array([one[1] for one in found]), seen, done)

    def play(self, theta: Float[Array, "... S"]) -> Play:
        """Probabilities and scores under π(1|s) = 1/(1 + e^{−θ_s})."""
        theta = np.asarray(theta, float)[..., None, :]
        # log π(a|s) = −log(1 + e^{∓θ}), stable for logits of any size
        logs = -np.logaddexp(0, np.where(self.done > 0, -theta, theta))
        likely = np.exp(-np.logaddexp(0, -theta))
        chance = self.chance * np.exp(np.sum(self.seen * logs, axis=-1))
        return Play(chance, self.returns, self.done - self.seen * likely, self.seen * likely * (1 - likely))


def _follow(
    problem: FiniteProblem,
    step: int,
    state: int,
    chance: float,
    taken: list[tuple[int, int]],
    found: list[tuple[float, float, list[tuple[int, int]]]],
) -> None:
    """Add every path that goes on from a state."""
    layer = problem.layers[step]
    for action in range(problem.actions):
        now = [*taken, (int(layer.observations[state]), action)]
        ends, moves = _row(layer, state * problem.actions + action)
        found.extend((chance * p, float(problem.returns[column]), now) for column, p in ends)
        remedy = f"has more than {MOST_PATHS} paths: give it fewer steps"
        require(len(found) <= MOST_PATHS, "problem", problem.name, remedy)
        for column, p in moves:
            _follow(problem, step + 1, column, chance * p, now, found)


def _row(layer: Layer, row: int) -> tuple[list[tuple[int, float]], list[tuple[int, float]]]:
    """Where a row of a layer ends, and where it goes on, with probabilities."""
    tables = layer.ends, layer.moves
    spans = [slice(table.indptr[row], table.indptr[row + 1]) for table in tables]
    ends, moves = (
        [(int(column), float(p)) for column, p in zip(t.indices[s], t.data[s], strict=True)]
        for t, s in zip(tables, spans, strict=True)
    )
    return ends, moves
