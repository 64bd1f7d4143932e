"""The bounds of Liu et al. (2018), as printed and as they follow; `docs/theory.md` has the steps.

Everything is maximised, so f(x₁) − f* of the paper is the gap f* − f(x₁) here.
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from fenchel.ascent import WeightedIterate
from fenchel.errors import require, require_count, require_nonnegative, require_positive

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Bound:
    """A number of the paper, as its text gives it and as it follows from the assumptions."""

    label: str
    """The equation's label in the paper."""
    printed: float
    corrected: float


@dataclass(frozen=True)
class Draw:
    """Pr(z = t) for t = 1, …, N."""

    label: str
    printed: Float[Array, " N"]
    corrected: Float[Array, " N"]


@dataclass(frozen=True)
class Constants:
    """What the assumptions ask for, on a set that the iterates do not leave.

    Arguments:
        smoothness: L, with ‖∇_i f(x) − ∇_i f(x')‖ ≤ L ‖x − x'‖ for every block i.
        gradient: G ≥ ‖∇_i f(x)‖ for every block.
        deviation: σ, with E‖Δ^i‖² ≤ σ² for every block.
        sample_smoothness: the same as L for the gradient of every single sample, of blocks that do not come
            first, in those that come before them.
        sample_gradient: the same as G for every single sample, of blocks that do not come last.
        bias: a bound A on ‖E[Δ^i]‖/β^max, if a better one is known than Lemma 2's.
    """

    smoothness: float
    gradient: float
    deviation: float
    sample_smoothness: float
    sample_gradient: float
    bias: float | None = None

    def __post_init__(self) -> None:
        for name in ("smoothness", "gradient", "deviation", "sample_smoothness", "sample_gradient"):
            require_positive(name, getattr(self, name))
        if self.bias is not None:
            require_nonnegative("bias", self.bias)


def bias_bound(constants: Constants, blocks: int = 2) -> Bound:
    """Lemma 2 (`eq:stocerrbd`): ‖E[Δ_t^i]‖ ≤ A β_t^max, with A = 2 L b G.

    Corrected: A = 2 (b − 1) L_s G_s, where L_s and G_s hold for every single sample. Those of f itself, which
    is an average, do not do: `docs/theory.md` has a problem on which the printed bound fails.

    >>> bias_bound(Constants(2.0, 3.0, 1.0, 4.0, 5.0))
    Bound(label='eq:stocerrbd', printed=24.0, corrected=40.0)
    """
    require_count("blocks", blocks)
    printed = 2 * constants.smoothness * blocks * constants.gradient
    corrected = 2 * (blocks - 1) * constants.sample_smoothness * constants.sample_gradient
    return Bound("eq:stocerrbd", printed, corrected)


def cyclic_constant(constants: Constants, largest: float, blocks: int = 2) -> Bound:
    """C_t of `thm:cyclicbcd`: (1 − Lβ/2) Σ_i L √(Σ_{j<i} (G² + σ²)) + b (A G + L σ²/2), with β = β_t^max.

    Corrected, with s_i² ≥ E Σ_{j<i} ‖g̃^j‖²:
    (1 − Lβ/2) Σ_i (2 G L s_i + L² β s_i²) + (b − 1) A G + Lσ Σ_i s_i + b L σ²/2.

    Arguments:
        constants: L, G, σ and those of the samples.
        largest: β_t^max.
        blocks: b.
    """
    smooth, slope, noise = constants.smoothness, constants.gradient, constants.deviation
    lemma = bias_bound(constants, blocks)
    shrink = 1 - smooth * largest / 2
    plain = np.sqrt(np.arange(blocks) * (slope**2 + noise**2))
    printed = shrink * smooth * plain.sum() + blocks * (lemma.printed * slope + smooth * noise**2 / 2)
    moved = _moved(slope, noise, blocks)
    squares = np.sum(2 * slope * smooth * moved + smooth**2 * largest * moved**2)
    bias = lemma.corrected if constants.bias is None else constants.bias
    corrected = shrink * squares + (blocks - 1) * bias * slope
    corrected += smooth * noise * moved.sum() + blocks * smooth * noise**2 / 2
    return Bound("eq:cyclicbcd", float(printed), float(corrected))


def _moved(slope: float, noise: float, blocks: int) -> Float[Array, " b"]:
    """s_i: the first block's direction is unbiased; those of later ones correlate with their gradients."""
    later = np.maximum(np.arange(blocks) - 1, 0) * (slope + noise) ** 2
    return np.sqrt(np.where(np.arange(blocks) > 0, slope**2 + noise**2, 0) + later)


def cyclic_bound(
    constants: Constants,
    gap: float,
    smallest: Float[Array, " N"],
    largest: Float[Array, " N"],
    blocks: int = 2,
) -> Bound:
    """`thm:cyclicbcd` (`eq:cyclicbcd`): E‖∇f(x̄_N)‖² ≤ (gap + Σ_t β_t^max² C_t) / Σ_t (β_t^min − L β_t^max²/2).

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


def mvp_constant(constants: Constants, largest: float) -> Bound:
    """C of `thm:cyclicbcd2` (`eq:C`), with β = β^max.

    (1 − Lβ/2) (L² β (G² + σ²) + L (2G² + σ²)) + A G + L σ² + 2L (1 + Lβ) (3σ² + 2G²).

    Corrected is what follows for two blocks, `cyclic_constant`: the same A aside, it is never greater.
    """
    smooth, slope, noise = constants.smoothness, constants.gradient, constants.deviation
    shift = smooth**2 * largest * (slope**2 + noise**2) + smooth * (2 * slope**2 + noise**2)
    cross = 2 * smooth * (1 + smooth * largest) * (3 * noise**2 + 2 * slope**2)
    bias = bias_bound(constants).printed
    printed = (1 - smooth * largest / 2) * shift + bias * slope + smooth * noise**2 + cross
    return Bound("eq:C", printed, cyclic_constant(constants, largest).corrected)


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
