"""Lemma 2 measured: the bias of MVP's θ direction, whose episode has already moved the dual."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from fenchel.ascent import BlockAscent, SolverState, mvp
from fenchel.errors import require, require_count
from fenchel.estimators import ScoreFunction
from fenchel.policies import Tabular
from fenchel.theory.bounds import Bound, bias_bound
from fenchel.theory.constants import (
    bias_slope,
    policy_errors,
    proved_constants,
    searched_constants,
    updated_dual,
)
from fenchel.theory.instance import Instance
from fenchel.theory.paths import Play

Array = np.ndarray[Any, Any]

AT_ONCE = 10_000
"""Episodes sampled side by side."""


@dataclass(frozen=True)
class Sampled:
    """Steps of the solver itself, averaged.

    Arguments:
        along: mean of Δ^θ along the exact bias of the shared episode.
        error: its standard error.
        worst: how far the mean of any coordinate is from the exact one, in standard errors.
    """

    along: float
    error: float
    worst: float


@dataclass(frozen=True)
class BiasPoint:
    """‖E[Δ^θ]‖ at one step size of the dual.

    Arguments:
        step_size: β^y.
        shared: exact, with one episode for both blocks (the paper's algorithm).
        fresh: exact, with an episode of its own for each block.
        sampled_shared: the same by sampling.
        sampled_fresh: the same by sampling.
    """

    step_size: float
    shared: float
    fresh: float
    sampled_shared: Sampled
    sampled_fresh: Sampled


@dataclass(frozen=True)
class Bias:
    """The bias at one point x = (θ, y) against β^y, and its bounds by Lemma 2.

    Arguments:
        slope: ‖E[Δ^θ]‖/β^y = 4 ‖∇M − J ∇J‖ at x, exact.
        lemma: A = 2 L b G, printed with constants of f̂ that a search finds, corrected with those of samples.
        sharp: A for this problem, proved: the greatest range of R² − J R.
    """

    instance: str
    risk_aversion: float
    theta: tuple[float, ...]
    dual: float
    episodes: int
    slope: float
    lemma: Bound
    sharp: float
    points: tuple[BiasPoint, ...]


def bias(
    instance: Instance,
    step_sizes: Sequence[float],
    *,
    episodes: int = 200_000,
    theta: Sequence[float] | None = None,
    seed: int = 0,
) -> Bias:
    """Compare E[g̃^θ] with E[∇_θ f̂(θ, y')] at y' = y + β^y g̃^y, exactly and by sampling the solver's own steps.

    y is the best dual of θ, where E[y'] = y, so that E[∇_θ f̂(θ, y')] = ∇_θ f̂(x) as well.

    Arguments:
        instance: the problem.
        step_sizes: β^y, each from 0 to ½.
        episodes: sampled at every step size, with and without a fresh batch.
        theta: logits; all zero by default.
        seed: of the sampling.

    >>> from fenchel.theory import straddle
    >>> found = bias(straddle(), [0.1, 0.2], episodes=10_000)
    >>> round(found.points[1].shared / found.points[0].shared, 6), found.points[1].fresh < 1e-12
    (2.0, True)
    """
    require_count("episodes", episodes, AT_ONCE)
    fits = len(step_sizes) > 0 and all(0 < step <= 0.5 for step in step_sizes)
    require(fits, "step_sizes", step_sizes, "must be above 0 and at most 1/2, and one at least")
    at = np.zeros(instance.states) if theta is None else np.asarray(theta, float)
    require(at.shape == (instance.states,), "theta", at.tolist(), f"must hold {instance.states} logits")
    play = instance.paths.play(at)
    dual = float(play.mean_return) + instance.shift
    points = tuple(
        _point(instance, play, at, dual, step, episodes, seed + number)
        for number, step in enumerate(map(float, step_sizes))
    )
    proved, searched = proved_constants(instance), searched_constants(instance)
    assert proved.bias is not None
    return Bias(
        instance=instance.name,
        risk_aversion=instance.risk_aversion,
        theta=tuple(at.tolist()),
        dual=dual,
        episodes=episodes - episodes % AT_ONCE,
        slope=float(np.linalg.norm(bias_slope(play))),
        lemma=bias_bound(searched),
        sharp=proved.bias,
        points=points,
    )


def exact_bias(instance: Instance, play: Play, dual: float, step: float, *, fresh: bool) -> Float[Array, " S"]:
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
    mean = total / count
    return mean, np.sqrt(np.maximum(squares / count - mean**2, 0) / count)


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
        return (moved - (2 * after.dual * mean_slope - square_slope)) @ weights

    def block(carry: tuple[jax.Array, jax.Array], number: jax.Array) -> tuple[Any, None]:
        keys = jax.random.split(jax.random.fold_in(key, number), AT_ONCE)
        seen = jax.vmap(one)(keys)
        return (carry[0] + jnp.sum(seen, axis=0), carry[1] + jnp.sum(seen**2, axis=0)), None

    nothing = jnp.zeros(weights.shape[1])
    sums: tuple[jax.Array, jax.Array] = jax.lax.scan(block, (nothing, nothing), jnp.arange(blocks))[0]
    return sums


def _point(
    instance: Instance, play: Play, theta: Array, dual: float, step: float, episodes: int, seed: int
) -> BiasPoint:
    exact = {fresh: exact_bias(instance, play, dual, step, fresh=fresh) for fresh in (False, True)}
    along = exact[False] / np.linalg.norm(exact[False])
    weights = np.column_stack([along, np.eye(len(theta))])

    def sample(fresh: bool) -> Sampled:
        solver = mvp(1.0, step, fresh_batch=fresh)
        mean, error = sampled_errors(instance, solver, theta, dual, weights, episodes, seed)
        gaps = np.abs(mean[1:] - exact[fresh]) / error[1:]
        return Sampled(float(mean[0]), float(error[0]), float(np.max(gaps)))

    norms = (float(np.linalg.norm(exact[fresh])) for fresh in (False, True))
    return BiasPoint(step, *norms, sample(False), sample(True))
