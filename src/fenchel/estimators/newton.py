"""Gauss-Newton steps for objectives of a return, with the curvature of many batches."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

DAMPING = 1e-4
"""Share of its diagonal that is added to the matrix, for directions that batches say nothing of."""

MEMORY = 3.0
"""A batch counts as much as 1/(1 + n/3) of all n before it: old ones, of other policies, are forgotten."""

SETTLED = 2
"""Batches for which slopes wait: far from the optimum they would make up for everything else."""

SEARCHED = 32
"""Batches after which steps are no longer searched for along a direction, but taken."""

LENGTHS = (1.0, 0.5, 0.25, 0.1, 0.03, 0.01)
"""Lengths of a step that are tried."""

SOLVES = 48
"""Most steps of conjugate gradients, products alone: decompositions may wait forever."""

TINY = 1e-30
"""Keeps a parameter without effect from being divided by zero."""


class Curvature(NamedTuple):
    """What is remembered: how many batches there were, and their mean curvature."""

    batches: Float[Array, ""]
    matrix: Float[Array, "p p"]

    @classmethod
    def unknown(cls, size: int) -> "Curvature":
        """Before the first batch."""
        return cls(jnp.zeros(()), jnp.zeros((size, size)))

    def add(self, gradients: Float[Array, "m p"], curvature: Float[Array, ""]) -> "Curvature":
        """With c Cov(∇R) of a batch: the covariance, as the dual follows the mean."""
        centred = gradients - jnp.mean(gradients, axis=0, keepdims=True)
        share = 1 / (1 + self.batches / MEMORY)
        seen = curvature * (centred.T @ centred) / gradients.shape[0]
        return Curvature(self.batches + 1, self.matrix + share * (seen - self.matrix))

    def step(self, gradient: Float[Array, " p"], late: Bool[Array, " p"]) -> Float[Array, " p"]:
        """(c Cov(∇R))⁻¹ times a gradient; what is late waits for the rest to be settled."""
        moves = ~late | (self.batches > SETTLED)
        scale = jnp.maximum(jnp.sqrt(jnp.diagonal(self.matrix)), TINY)
        whitened = jnp.where(moves[:, None] & moves[None], self.matrix / scale[:, None] / scale[None], 0)
        whitened += DAMPING * jnp.eye(scale.shape[0])
        wanted = jnp.where(moves, gradient / scale, 0)
        solve = partial(jax.scipy.sparse.linalg.cg, tol=1e-6, maxiter=SOLVES)
        found = solve(lambda v: whitened @ v, wanted)[0]
        return jnp.where(moves, found / scale, 0)

    def length(self, worth: Callable[[Float[Array, ""]], Float[Array, ""]]) -> Float[Array, ""]:
        """The length of a step that is worth most; later on, all of it."""
        lengths = jnp.array(LENGTHS)
        found = jax.lax.map(worth, lengths)
        best = lengths[jnp.argmax(jnp.where(jnp.isfinite(found), found, -jnp.inf))]
        return jnp.where(self.batches > SEARCHED, 1.0, best)
