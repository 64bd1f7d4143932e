"""Where asset returns come from: a normal law, or the rows of a table drawn again and again."""

from typing import Any, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from fenchel.errors import require
from fenchel.noise import normals, uniforms

Matrix = np.ndarray[Any, np.dtype[np.float64]]


ROWS = 4
"""Rows per column from which a sample is given the exact covariance: with fewer it would lose its tails."""


SCALE, ROUNDS = 1.5, 9
"""For eigenvalues from (1 − ½)² to (1 + ½)², which those of such samples have: nine rounds reach rounding."""


def _inverse_root(matrix: Float[Array, "d d"]) -> Float[Array, "d d"]:
    """A^{−1/2} by Newton-Schulz, in products alone.

    A batch of decompositions waits for the pool of threads that it runs on: two programs side by side on two
    cores then wait forever.
    """
    eye = jnp.eye(matrix.shape[0], dtype=matrix.dtype)

    def improve(_: Int[Array, ""], pair: tuple[Array, Array]) -> tuple[Array, Array]:
        root, inverse = pair
        turn = (3 * eye - inverse @ root) / 2
        return root @ turn, turn @ inverse

    inverse: Float[Array, "d d"]
    _, inverse = jax.lax.fori_loop(0, ROUNDS, improve, (matrix / SCALE, eye))
    found: Float[Array, "d d"] = inverse / SCALE**0.5
    return found


def mirrored(drawn: Float[Array, "steps m n"], opposites: int) -> Float[Array, "steps M n"]:
    """A normal sample of second moments one, over all steps and numbers, and the first of it mirrored.

    Columns of a normal matrix made orthonormal are uniform among all such: what a row does is normal but for
    O(1/m), while every mean of products of two numbers is exact.
    """
    steps, rows, numbers = drawn.shape
    table = jnp.moveaxis(drawn, 0, 1).reshape(rows, steps * numbers)
    if rows >= ROWS * table.shape[1]:
        table = table @ _inverse_root(table.T @ table / rows)
    made = jnp.moveaxis(table.reshape(rows, steps, numbers), 1, 0)
    return jnp.concatenate([made, -made[:, :opposites]], axis=1)


@final
class GaussianMarket(eqx.Module):
    """Gross returns that are independent over time and jointly normal.

    Arguments:
        mean: expected gross returns per period.
        covariance: row by row.
    """

    mean: tuple[float, ...] = eqx.field(static=True)
    covariance: tuple[float, ...] = eqx.field(static=True)

    def __check_init__(self) -> None:
        count = len(self.mean)
        remedy = f"must have {count * count} numbers, row by row, for the {count} assets of mean"
        require(len(self.covariance) == count * count, "covariance", self.covariance, remedy)
        matrix = self._matrix
        require(np.allclose(matrix, matrix.T), "covariance", self.covariance, "must be symmetric")
        definite = float(np.linalg.eigvalsh(matrix).min()) > 0
        require(
            definite, "covariance", self.covariance, "must be positive definite: no asset may follow others"
        )

    @property
    def assets(self) -> int:
        """How many risky assets there are."""
        return len(self.mean)

    @property
    def moments(self) -> tuple[Matrix, Matrix]:
        """E[e] and E[e eᵀ] of the gross returns e of a period."""
        mean = np.array(self.mean)
        return mean, self._matrix + np.outer(mean, mean)

    def draw(self, key: Key[Array, ""], shape: tuple[int, ...]) -> Float[Array, "... assets"]:
        """A standard normal per asset."""
        return normals(key, (*shape, self.assets))

    def spread(self, key: Key[Array, ""], shape: tuple[int, ...]) -> Float[Array, "... assets"]:
        """Pairs of opposites along the last axis of `shape`, whose covariance is exactly the identity."""
        half = shape[-1] // 2
        drawn = self.draw(key, (*shape[:-1], shape[-1] - half))
        return mirrored(drawn, half)

    def start(self, noise: Float[Array, " assets"]) -> Int[Array, ""]:
        """The past does not matter."""
        return jnp.zeros((), jnp.int32)

    def move(
        self, noise: Float[Array, " assets"], place: Int[Array, ""]
    ) -> tuple[Int[Array, ""], Float[Array, " assets"]]:
        """The gross returns of a period."""
        root = jnp.asarray(np.linalg.cholesky(self._matrix), noise.dtype)
        return place, jnp.asarray(self.mean, noise.dtype) + root @ noise

    @property
    def _matrix(self) -> Matrix:
        return np.array(self.covariance).reshape(self.assets, self.assets)


@final
class BootstrapMarket(eqx.Module):
    """Rows of a table, drawn with replacement in blocks of geometric length (Politis & Romano 1994).

    Arguments:
        table: gross returns, a row per period.
        block: mean length of a block; 1 draws every row by itself.
    """

    table: Float[Array, "rows assets"]
    block: float = eqx.field(static=True, default=1.0)

    @property
    def assets(self) -> int:
        """How many risky assets there are."""
        return int(self.table.shape[1])

    @property
    def moments(self) -> tuple[Matrix, Matrix]:
        """E[e] and E[e eᵀ] of the gross returns e of a period."""
        table = np.asarray(self.table, np.float64)
        return table.mean(axis=0), table.T @ table / len(table)

    def draw(self, key: Key[Array, ""], shape: tuple[int, ...]) -> Float[Array, "... 2"]:
        """Whether a block ends, and where the next one begins."""
        return uniforms(key, (*shape, 2))

    def spread(self, key: Key[Array, ""], shape: tuple[int, ...]) -> Float[Array, "... 2"]:
        """Beginnings of blocks that cover the table evenly, in random order."""
        drawn = self.draw(key, shape)
        ranks = jnp.argsort(jax.random.bits(jax.random.fold_in(key, 1), shape), axis=-1)
        return drawn.at[..., 1].set((ranks + drawn[..., 1]) / shape[-1])

    def start(self, noise: Float[Array, "2"]) -> Int[Array, ""]:
        """A row anywhere."""
        return self._row(noise)

    def move(
        self, noise: Float[Array, "2"], place: Int[Array, ""]
    ) -> tuple[Int[Array, ""], Float[Array, " assets"]]:
        """The next row of the block, or the first of another; after the last row comes the first."""
        ends = noise[0] * self.block < 1
        row = jnp.where(ends, self._row(noise), (place + 1) % self.table.shape[0])
        return row, self.table[row]

    def _row(self, noise: Float[Array, "2"]) -> Int[Array, ""]:
        rows = self.table.shape[0]
        return jnp.minimum(jnp.floor(noise[1] * rows), rows - 1).astype(jnp.int32)
