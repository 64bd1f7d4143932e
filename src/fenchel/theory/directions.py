"""The direction of MVP's policy block: exact moments over all paths, and samples of the solver's steps."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from fenchel.ascent import BlockAscent, SolverState
from fenchel.estimators import ScoreFunction
from fenchel.policies import Tabular
from fenchel.theory.assumptions import Array
from fenchel.theory.instance import Instance
from fenchel.theory.paths import Play

AT_ONCE = 10_000
"""Episodes sampled side by side."""


def bias_slope(play: Play) -> Float[Array, "... S"]:
    """E[Δ^θ]/β^y = 4 (∇M − J ∇J)."""
    mean, square = play.slope(play.returns), play.slope(play.returns**2)
    return np.asarray(4 * (square - play.mean_return[..., None] * mean))


def policy_errors(
    instance: Instance, play: Play, dual: Float[Array, "..."], step: Float[Array, "..."]
) -> Float[Array, "... P S"]:
    """Δ^θ of every path that updates y as well: (2y'R − R²) ω − (2y'∇J − ∇M), with y' the updated dual."""
    moved = updated_dual(instance, play, dual, step)
    sampled = (2 * moved * play.returns - play.returns**2)[..., None] * play.scores
    mean, square = (play.slope(play.returns**power)[..., None, :] for power in (1, 2))
    return np.asarray(sampled - (2 * moved[..., None] * mean - square))


def updated_dual(
    instance: Instance, play: Play, dual: Float[Array, "..."], step: Float[Array, "..."]
) -> Float[Array, "... P"]:
    """The dual after its step, y + β (2R + 1/λ − 2y), of every path."""
    y = np.asarray(dual)[..., None]
    return np.asarray(y + 2 * np.asarray(step)[..., None] * (play.returns + instance.shift - y))


def exact_bias(
    instance: Instance, play: Play, dual: float, step: float, *, fresh: bool
) -> Float[Array, " S"]:
    """E[Δ^θ], summed over all paths; with a fresh batch over all pairs of them.

    Arguments:
        instance: the problem.
        play: its paths under θ.
        dual: y.
        step: β^y.
        fresh: whether the episode that moved y is another one.
    """
    if not fresh:
        errors = policy_errors(instance, play, np.array(dual), np.array(step))
        return np.asarray(play.chance @ errors)
    moved = updated_dual(instance, play, np.array(dual), np.array(step))
    weights = 2 * moved[:, None] * play.returns - play.returns**2
    sampled = np.einsum("q,p,qp,ps->s", play.chance, play.chance, weights, play.scores)
    gradient = 2 * play.mean(moved) * play.slope(play.returns) - play.slope(play.returns**2)
    return np.asarray(sampled - gradient)


def sampled_errors(
    instance: Instance,
    solver: BlockAscent,
    theta: Float[Array, " S"],
    dual: float,
    weights: Float[Array, "S k"],
    episodes: int,
    seed: int,
) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
    """Mean and standard error of weightsᵀ Δ^θ over single steps of a solver whose θ step size is 1.

    Arguments:
        instance: the problem.
        solver: with dual and policy block.
        theta: logits.
        dual: y.
        weights: columns of what is averaged.
        episodes: how many steps, a multiple of `AT_ONCE`.
        seed: of their noise.
    """
    play = instance.paths.play(theta)
    slopes = play.slope(play.returns), play.slope(play.returns**2)
    with jax.enable_x64(True):
        numbers = tuple(map(jnp.asarray, (theta[:, None], dual, *slopes, weights)))
        key, parts = jax.random.key(seed), (solver, ScoreFunction(instance.env), instance.objective)
        arrays, rest = eqx.partition(_in_arrays(parts), eqx.is_array)
        total, squares = map(np.asarray, _sums(arrays, rest, numbers, key, episodes // AT_ONCE))
    count = episodes // AT_ONCE * AT_ONCE
    mean: Array = total / count
    error: Array = np.sqrt(np.maximum(squares / count - mean**2, 0) / count)
    return mean, error


def _in_arrays(tree: Any) -> Any:
    """Numbers as arrays, so that all step sizes share one program."""
    return jax.tree.map(lambda leaf: jnp.asarray(leaf) if isinstance(leaf, float) else leaf, tree)


@eqx.filter_jit
def _sums(arrays: Any, rest: Any, numbers: Any, key: jax.Array, blocks: int) -> tuple[jax.Array, jax.Array]:
    solver, estimator, objective = eqx.combine(arrays, rest)
    table, dual, mean_slope, square_slope, weights = numbers
    state: SolverState = solver.init(Tabular(table), dual)

    def one(key: jax.Array) -> jax.Array:
        noise = solver.draw(key, state.policy, estimator)
        after, _ = solver.step(noise, jnp.zeros((), jnp.int32), state, estimator, objective)
        moved = (after.policy.table - table)[:, 0]
        seen: jax.Array = (moved - (2 * after.dual * mean_slope - square_slope)) @ weights
        return seen

    def block(carry: tuple[jax.Array, jax.Array], number: jax.Array) -> tuple[Any, None]:
        keys = jax.random.split(jax.random.fold_in(key, number), AT_ONCE)
        seen = jax.vmap(one)(keys)
        return (carry[0] + jnp.sum(seen, axis=0), carry[1] + jnp.sum(seen**2, axis=0)), None

    nothing = jnp.zeros(weights.shape[1])
    sums: tuple[jax.Array, jax.Array] = jax.lax.scan(block, (nothing, nothing), jnp.arange(blocks))[0]
    return sums
