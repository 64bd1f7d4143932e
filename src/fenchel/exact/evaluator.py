"""The law of the return as a differentiable function of a policy: exact gradients of anything."""

from typing import Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int, Num

from fenchel.exact.problem import Array, FiniteProblem
from fenchel.exact.surrogates import bisect, require_surrogate
from fenchel.objectives.base import AbstractObjective
from fenchel.objectives.statistic import AbstractStatistic
from fenchel.policies.categorical import AbstractDiscrete


class Evaluator(eqx.Module):
    """A finite problem as padded arrays, one row per layer, for policies of what it shows.

    Every method is differentiable in the policy's parameters, under `jit` and `vmap`, in the precision that
    JAX is set to; `played` and `gradient` see to double precision.

    >>> import jax
    >>> from fenchel import make, make_policy
    >>> from fenchel.exact import Evaluator, enumerate_environment
    >>> env = make("option", observe="index")
    >>> evaluator = Evaluator.of(enumerate_environment(env))
    >>> slope = jax.grad(evaluator.mean)(make_policy("tabular", env))
    >>> slope.table.shape
    (210, 1)
    """

    observations: Num[Array, "N ..."]
    allowed: Bool[Array, "N A"] | None
    places: Int[Array, "T n"]
    """The state in each place of a layer; places beyond its size hold state 0, and are never reached."""
    start: Float[Array, " n"]
    source: Int[Array, "T e"]
    target: Int[Array, "T e"]
    chance: Float[Array, "T e"]
    end_source: Int[Array, " k"]
    end_return: Int[Array, " k"]
    end_chance: Float[Array, " k"]
    returns: Float[Array, " E"]

    @classmethod
    def of(cls, problem: FiniteProblem) -> Self:
        """The problem, flattened."""
        layers, actions = problem.layers, problem.actions
        widest = max(layer.size for layer in layers)
        firsts = np.cumsum([0, *(layer.size for layer in layers)])
        places = [np.arange(layer.size) + first for layer, first in zip(layers, firsts, strict=False)]
        moves = [layer.moves.tocoo() for layer in layers]
        ends = [layer.ends.tocoo() for layer in layers]
        allowed = np.concatenate([layer.allowed for layer in layers])
        return cls(
            observations=np.concatenate([layer.observations for layer in layers]),
            allowed=None if np.all(allowed) else allowed,
            places=_stacked(places, widest),
            start=np.pad(problem.start, (0, widest - len(problem.start))),
            source=_stacked([table.coords[0] for table in moves]),
            target=_stacked([table.coords[1] for table in moves]),
            chance=_stacked([table.data for table in moves]),
            end_source=_whole(
                np.concatenate([k * widest * actions + table.coords[0] for k, table in enumerate(ends)])
            ),
            end_return=_whole(np.concatenate([table.coords[1] for table in ends])),
            end_chance=_whole(np.concatenate([table.data for table in ends])),
            returns=problem.returns,
        )

    def chances(self, policy: AbstractDiscrete) -> Float[jax.Array, "N A"]:
        """π(a|s) in every state; what is not allowed is left out, and the rest scaled up."""
        chances = jax.vmap(policy.probabilities)(jnp.asarray(self.observations))
        if self.allowed is None:
            return chances
        kept = jnp.where(self.allowed, chances, 0)
        return kept / jnp.sum(kept, axis=1, keepdims=True)

    def law(self, policy: AbstractDiscrete) -> Float[jax.Array, " E"]:
        """Probability of each of `returns`."""
        return self.law_of(self.chances(policy))

    def law_of(self, chances: Float[jax.Array, "N A"]) -> Float[jax.Array, " E"]:
        """The same, for the probabilities of all actions in all states."""

        def follow(reached: jax.Array, layer: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
            places, source, target, chance = layer
            visits = (reached[:, None] * chances[places]).ravel()
            return jnp.zeros_like(reached).at[target].add(chance * visits[source]), visits

        layers = self.places, self.source, self.target, self.chance
        start = jnp.asarray(self.start, chances.dtype)
        visits = jax.lax.scan(follow, start, jax.tree.map(jnp.asarray, layers))[1].ravel()
        ended = visits[self.end_source] * self.end_chance
        return jax.ops.segment_sum(ended, jnp.asarray(self.end_return), len(self.returns))

    def mean(self, policy: AbstractDiscrete) -> Float[jax.Array, ""]:
        """J."""
        return self.law(policy) @ self.returns

    def second_moment(self, policy: AbstractDiscrete) -> Float[jax.Array, ""]:
        """M = E[R²]."""
        return self.law(policy) @ jnp.asarray(self.returns) ** 2

    def mean_variance(self, policy: AbstractDiscrete, risk_aversion: float) -> Float[jax.Array, ""]:
        """J − λ Var(R), with the variance about the mean: nothing cancels."""
        law = self.law(policy)
        mean = law @ self.returns
        return mean - risk_aversion * (law @ (self.returns - mean) ** 2)

    def value(
        self, policy: AbstractDiscrete, objective: AbstractObjective, dual: float | jax.Array | None = None
    ) -> Float[jax.Array, ""]:
        """E[ψ(R, y)] in the objective's own scale, at a given dual or at the best one.

        At the best dual the derivative is that of ψ at this dual held fixed (the envelope theorem).
        """
        return self.value_of(self.law(policy), objective, dual)

    def value_of(
        self, law: Float[jax.Array, " E"], objective: AbstractObjective, dual: float | jax.Array | None = None
    ) -> Float[jax.Array, ""]:
        """The same of a law."""
        if isinstance(objective, AbstractStatistic):
            return objective.of_law(jnp.asarray(self.returns), law)
        best = self.best_dual(law, objective) if dual is None else jnp.asarray(dual)
        surrogate = jax.vmap(require_surrogate(objective).surrogate, (0, None))
        return law @ surrogate(jnp.asarray(self.returns), jax.lax.stop_gradient(best))

    def best_dual(self, law: Float[jax.Array, " E"], objective: AbstractObjective) -> Float[jax.Array, ""]:
        """argmax_y E[ψ(R, y)]."""
        if not objective.has_dual:
            return jnp.zeros((), law.dtype)
        own = jax.vmap(lambda ret: objective.best_dual(ret[None]))(jnp.asarray(self.returns))
        best: jax.Array = bisect(objective, jnp.asarray(self.returns), law, jnp.min(own), jnp.max(own))
        return best


def _stacked(rows: list[Array], width: int | None = None) -> Array:
    """Rows of different length as one table; zeros fill them up, which for a chance means never."""
    width = max(len(row) for row in rows) if width is None else width
    table = np.stack([np.pad(row, (0, width - len(row))) for row in rows])
    return _whole(table)


def _whole(numbers: Array) -> Array:
    """Indices in 32 bits, whatever JAX is set to."""
    return numbers.astype(np.int32) if np.issubdtype(numbers.dtype, np.integer) else numbers
