"""Lemma 2 measured: the bias of MVP's θ direction, whose episode has already moved the dual."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fenchel.ascent import mvp
from fenchel.errors import require, require_count
from fenchel.theory.assumptions import Array, Bound
from fenchel.theory.constants import proved_constants, searched_constants
from fenchel.theory.directions import AT_ONCE, bias_slope, exact_bias, sampled_errors
from fenchel.theory.instance import Instance
from fenchel.theory.lemmas import bias_bound
from fenchel.theory.paths import Play


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
    """Compare E[g̃^θ] with E[∇_θ f̂(θ, y')] at y' = y + β^y g̃^y.

    Exactly, and by sampling the solver's own steps. y is the best dual of θ, where E[y'] = y, so that
    E[∇_θ f̂(θ, y')] = ∇_θ f̂(x) as well.

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
    slope = float(np.linalg.norm(bias_slope(play)))
    require(slope > 0, "theta", at.tolist(), "is a point at which the direction has no bias")
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
        slope=slope,
        lemma=bias_bound(searched),
        sharp=proved.bias,
        points=points,
    )


def _point(
    instance: Instance, play: Play, theta: Array, dual: float, step: float, episodes: int, seed: int
) -> BiasPoint:
    exact = {fresh: exact_bias(instance, play, dual, step, fresh=fresh) for fresh in (False, True)}
    along = exact[False] / np.linalg.norm(exact[False])
    weights = np.column_stack([along, np.eye(len(theta))])

    def sample(fresh: bool) -> Sampled:
        solver = mvp(1.0, step, fresh_batch=fresh)
        mean, error = sampled_errors(instance, solver, theta, dual, weights, episodes, seed)
        gaps = np.abs(mean[1:] - exact[fresh])
        worst = np.max(np.divide(gaps, error[1:], out=np.zeros_like(gaps), where=error[1:] > 0))
        return Sampled(float(mean[0]), float(error[0]), float(worst))

    shared, separate = (float(np.linalg.norm(exact[fresh])) for fresh in (False, True))
    return BiasPoint(step, shared, separate, sample(False), sample(True))
