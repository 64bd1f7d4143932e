"""Limits on amounts held, kept by projection."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


def project(
    wanted: Float[Array, " n"], budget: Float[Array, ""] | None, short: Float[Array, ""] | None
) -> Float[Array, " n"]:
    """The nearest amounts with Σ|u_i| ≤ budget and u_i ≥ −short; None for no such limit.

    They are u_i = sign(a_i) min((|a_i| − τ)₊, c_i) with the cap c_i = short where a_i < 0. The excess τ is
    linear between the |a_i| and the |a_i| − c_i: it is solved for in the piece where the budget is met.

    >>> import jax.numpy as jnp
    >>> project(jnp.array([0.9, 0.5, -0.4]), jnp.asarray(1.0), jnp.asarray(0.0)).round(6).tolist()
    [0.7, 0.3, -0.0]
    """
    size = jnp.abs(wanted)
    most = jnp.finfo(size.dtype).max  # type: ignore[no-untyped-call]
    cap = jnp.full_like(size, most) if short is None else jnp.where(wanted < 0, short, most)
    kept = jnp.minimum(size, cap)
    if budget is not None:
        over = jnp.sum(kept) > budget
        tau = _excess(size, cap, jnp.where(over, budget, 0))
        kept = jnp.where(over, jnp.clip(size - tau, 0, cap), kept)
    return jnp.sign(wanted) * kept


def _excess(size: Float[Array, " n"], cap: Float[Array, " n"], budget: Float[Array, ""]) -> Float[Array, ""]:
    """τ with Σ min((|a_i| − τ)₊, c_i) = budget."""
    corners = jax.lax.stop_gradient(jnp.sort(jnp.concatenate([size, jnp.maximum(size - cap, 0)])))
    held = jnp.sum(jnp.clip(size[None] - corners[:, None], 0, cap[None]), axis=1)
    low = jnp.max(jnp.where(held > jax.lax.stop_gradient(budget), corners, 0))
    free, full = _pieces(size, cap, low)
    total = jnp.sum(jnp.where(free, size, 0)) + jnp.sum(jnp.where(full, cap, 0)) - budget
    return total / jnp.maximum(jnp.sum(free), 1)


def _pieces(
    size: Float[Array, " n"], cap: Float[Array, " n"], low: Float[Array, ""]
) -> tuple[Bool[Array, " n"], Bool[Array, " n"]]:
    """Which amounts fall, and which stay at their cap, for τ just above a corner."""
    full = size - cap > low
    return (size > low) & ~full, full
