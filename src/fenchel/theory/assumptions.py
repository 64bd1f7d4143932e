"""What the paper assumes, and what its theory says: numbers with the labels of their equations."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from fenchel.errors import require_nonnegative, require_positive

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
