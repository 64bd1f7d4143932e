"""The bounds of Liu et al. (2018), as printed and as they follow; `docs/theory.md` has the steps.

Everything is maximised, so f(x₁) − f* of the paper is the gap f* − f(x₁) here.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from fenchel.ascent import WeightedIterate
from fenchel.errors import require, require_count, require_nonnegative, require_positive
from fenchel.theory.assumptions import Array, Bound, Constants, Draw
from fenchel.theory.lemmas import cyclic_constant, mvp_constant


def cyclic_bound(
    constants: Constants,
    gap: float,
    smallest: Float[Array, " N"],
    largest: Float[Array, " N"],
    blocks: int = 2,
) -> Bound:
    """`eq:cyclicbcd` (`thm:cyclicbcd`): E‖∇f(x̄_N)‖² ≤ (gap + Σ β_t^max² C_t) / Σ (β_t^min − L β_t^max²/2).

    Arguments:
        constants: L, G, σ and those of the samples.
        gap: f* − f(x₁).
        smallest: β_t^min for t = 1, …, N.
        largest: β_t^max.
        blocks: b.
    """
    require_nonnegative("gap", gap)
    smallest, largest = np.asarray(smallest, float), np.asarray(largest, float)
    _require_short(constants, smallest, largest)
    weight = np.sum(smallest - constants.smoothness / 2 * largest**2)
    sizes, counts = np.unique(largest, return_counts=True)
    each = [cyclic_constant(constants, size, blocks) for size in sizes]
    printed, corrected = (
        float((gap + np.sum(counts * sizes**2 * np.array(column))) / weight)
        for column in zip(*((one.printed, one.corrected) for one in each), strict=True)
    )
    return Bound("eq:cyclicbcd", printed, corrected)


def corollary_bound(
    constants: Constants, gap: float, iterations: int, scale: float, blocks: int = 2
) -> Bound:
    """`cor:cyclicrate` for β_t^i = c/√N: E‖∇f(x̄_N)‖² = O(√((gap + C)/N)), printed with the constant 1 for O.

    Corrected: (gap/c + c C)/(√N − L c/2). It grows with gap + C itself, not with its root: at the best
    c = √(gap/C) it is about 2 √(gap C/N).

    Arguments:
        constants: L, G, σ and those of the samples.
        gap: f* − f(x₁).
        iterations: N.
        scale: c.
        blocks: b.
    """
    require_count("iterations", iterations)
    require_positive("scale", scale)
    require_nonnegative("gap", gap)
    step = scale / np.sqrt(iterations)
    _require_short(constants, np.array([step]), np.array([step]))
    each = cyclic_constant(constants, step, blocks)
    printed = np.sqrt((gap + each.printed) / iterations)
    smaller = np.sqrt(iterations) - constants.smoothness * scale / 2
    return Bound("cor:cyclicrate", float(printed), float((gap / scale + scale * each.corrected) / smaller))


def mvp_bound(
    constants: Constants, gap: float, iterations: int, policy_step_size: float, dual_step_size: float
) -> Bound:
    """`thm:cyclicbcd2` (`eq:thm2`): E‖∇f̂_λ(x̄_N)‖² ≤ (gap + N β^max² C) / (N (β^min − L β^max²/2)).

    Arguments:
        constants: L, G, σ of f̂_λ where y is bounded, and those of the samples.
        gap: f̂_λ* − f̂_λ(x₁).
        iterations: N, the number of episodes.
        policy_step_size: β^θ.
        dual_step_size: β^y.

    >>> bound = mvp_bound(Constants(1.0, 1.0, 1.0, 1.0, 1.0), 1.0, 10_000, 0.01, 0.01)
    >>> round(bound.printed, 4), round(bound.corrected, 4)
    (0.192, 0.0829)
    """
    require_count("iterations", iterations)
    require_nonnegative("gap", gap)
    smallest, largest = sorted((policy_step_size, dual_step_size))
    _require_short(constants, np.array([smallest]), np.array([largest]))
    constant = mvp_constant(constants, largest)
    weight = iterations * (smallest - constants.smoothness / 2 * largest**2)
    printed, corrected = (
        (gap + iterations * largest**2 * c) / weight for c in (constant.printed, constant.corrected)
    )
    return Bound("eq:thm2", float(printed), float(corrected))


def draw_weights(smallest: Float[Array, " N"], largest: Float[Array, " N"], smoothness: float) -> Draw:
    """`eq:prob-z`: Pr(z = t) ∝ β_t^min − (L/2) β_t^max², as `WeightedIterate` draws; uniform if constant.

    Corrected: where that is not positive, x_t is not drawn.

    >>> import numpy as np
    >>> draw_weights(np.array([0.5, 0.25]), np.array([0.5, 0.25]), smoothness=2.0).corrected.round(3).tolist()
    [0.571, 0.429]
    """
    require_positive("smoothness", smoothness)
    with jax.enable_x64(True):
        sizes = jnp.stack([jnp.asarray(smallest, float), jnp.asarray(largest, float)], axis=1)
        weights = np.asarray(jax.vmap(WeightedIterate(smoothness).weight)(sizes))
    kept = np.maximum(weights, 0)
    remedy = "leaves no iterate a positive weight: lower the step sizes"
    require(bool(np.sum(kept) > 0), "smoothness", smoothness, remedy)
    return Draw("eq:prob-z", weights / np.sum(weights), kept / np.sum(kept))


def _require_short(constants: Constants, smallest: Float[Array, " N"], largest: Float[Array, " N"]) -> None:
    """The theorems' condition 2 β^min > L β^max²."""
    short = np.all((2 * smallest > constants.smoothness * largest**2) & (smallest <= largest))
    remedy = f"must satisfy 2 β_min > L β_max² for L = {constants.smoothness:.6g}: lower them"
    require(bool(short), "step sizes", (float(np.min(smallest)), float(np.max(largest))), remedy)
