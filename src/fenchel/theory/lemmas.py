"""Lemma 2 and the constants of the theorems, as printed and as they follow (`docs/theory.md`)."""

import numpy as np
from jaxtyping import Float

from fenchel.errors import require_count
from fenchel.theory.assumptions import Array, Bound, Constants


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
