"""L, G, σ of a small instance: proved for every θ and the y that MVP stays among, and searched for."""

from collections.abc import Callable

import numpy as np

from fenchel.errors import require_count
from fenchel.theory.assumptions import Array, Constants
from fenchel.theory.directions import bias_slope, policy_errors
from fenchel.theory.instance import Instance
from fenchel.theory.paths import Play

REACHES = (2.0, 0.5, 0.1, 0.02)
"""Typical lengths of a step of the search, in turn."""


def proved_constants(instance: Instance) -> Constants:
    """Constants that hold for all θ and all y in `instance.dual_range`; `docs/theory.md` has the proofs.

    With D the range of R, D_u the greatest range of u = 2yR − R², U its greatest size and T decisions at
    most: G = max(2D, D_u/4), L = max(2√(1 + D²/16), √(D²/4 + D_u²/16)), σ = max(D, √T U/2 + D_u/4); and
    ‖E[Δ^θ]‖ = 4β ‖∇M − J ∇J‖ ≤ A β with A the greatest range of R² − J R.

    >>> from fenchel.theory import straddle
    >>> constants = proved_constants(straddle())
    >>> round(constants.smoothness, 3), round(constants.gradient, 3), round(constants.deviation, 3)
    (2.088, 2.394, 2.935)
    """
    returns, decisions = instance.returns, float(np.sqrt(instance.problem.horizon))
    # ranges and sizes are convex in y and in J, so they are greatest at an end
    weights = 2 * np.array(instance.dual_range)[:, None] * returns - returns**2
    spread, reach = float(np.max(np.ptp(weights, axis=1))), float(np.max(np.abs(weights)))
    width = float(np.ptp(returns))
    products = returns**2 - returns[[0, -1], None] * returns
    rows = 2 * np.sqrt(1 + width**2 / 16), np.hypot(width / 2, spread / 4)
    return Constants(
        smoothness=float(max(rows)),
        gradient=max(2 * width, spread / 4),
        deviation=max(width, decisions * reach / 2 + spread / 4),
        sample_smoothness=2 * decisions * float(np.max(np.abs(returns))),
        sample_gradient=2 * width,
        bias=float(np.max(np.ptp(products, axis=1))),
    )


def searched_constants(
    instance: Instance, *, points: int = 64, rounds: int = 400, seed: int = 0
) -> Constants:
    """The greatest L, G, σ and A that a search over (θ, y) finds: what they are at least.

    Many points move at random, and stay where the quantity is greater. Gradients, second derivatives and
    variances are exact at every point; that there is none greater is not proved. The constants of single
    samples are the proved ones.

    Arguments:
        instance: the problem.
        points: how many points search for each quantity.
        rounds: how often each of them moves.
        seed: of the search.
    """
    require_count("points", points)
    require_count("rounds", rounds)
    measures: tuple[_Measure, ...] = (_smoothness, _gradient, _deviation, _bias)
    smooth, slope, noise, bias = (_climb(measure, instance, points, rounds, seed) for measure in measures)
    proved = proved_constants(instance)
    return Constants(smooth, slope, noise, proved.sample_smoothness, proved.sample_gradient, bias)


_Measure = Callable[[Instance, Play, Array, Array], Array]
"""A quantity at many points: the paths under θ, the dual, and the dual's step size."""


def _climb(measure: _Measure, instance: Instance, points: int, rounds: int, seed: int) -> float:
    """The greatest value after `rounds` moves of all points z = (θ, share of the range of y, 2β^y)."""
    generator = np.random.default_rng(seed)
    low, high = instance.dual_range

    def look(z: Array) -> Array:
        play = instance.paths.play(z[:, :-2])
        return measure(instance, play, low + z[:, -2] * (high - low), z[:, -1] / 2)

    z = _inside(2 * generator.normal(size=(points, instance.states + 2)))
    best = look(z)
    for turn in range(rounds):
        moved = _inside(z + REACHES[turn % len(REACHES)] * generator.normal(size=z.shape))
        found = look(moved)
        better = found > best
        z[better], best[better] = moved[better], found[better]
    return float(np.max(best))


def _inside(z: Array) -> Array:
    return np.hstack([z[:, :-2], np.clip(z[:, -2:], 0, 1)])


def _smoothness(instance: Instance, play: Play, dual: Array, step: Array) -> Array:
    """The greater norm of the two block rows of the Hessian, (∂_y ∂_y f̂, ∂_y ∇_θ f̂) and its like for θ."""
    cross = 2 * play.slope(play.returns)
    inner = play.curvature(instance.surrogate(dual))
    row = np.linalg.norm(np.concatenate([cross[..., None], inner], axis=-1), ord=2, axis=(-2, -1))
    return np.asarray(np.maximum(row, np.sqrt(4 + np.sum(cross**2, axis=-1))))


def _gradient(instance: Instance, play: Play, dual: Array, step: Array) -> Array:
    """The longer of the two block gradients."""
    slope = np.linalg.norm(play.slope(instance.surrogate(dual)), axis=-1)
    return np.asarray(np.maximum(slope, np.abs(instance.dual_gradient(play, dual))))


def _deviation(instance: Instance, play: Play, dual: Array, step: Array) -> Array:
    """The greater root of E‖Δ^i‖², with MVP's one episode for both blocks."""
    errors = policy_errors(instance, play, dual, step)
    centred = 2 * (play.returns - play.mean_return[..., None])
    squares = np.maximum(play.mean(np.sum(errors**2, axis=-1)), play.mean(centred**2))
    return np.asarray(np.sqrt(squares))


def _bias(instance: Instance, play: Play, dual: Array, step: Array) -> Array:
    """‖E[Δ^θ]‖/β^y, which depends neither on y nor on β^y."""
    return np.asarray(np.linalg.norm(bias_slope(play), axis=-1))
