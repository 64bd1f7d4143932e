"""Mirror steps against their definition."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import rel_entr

from fenchel.ascent.mirror import MIRRORS, Entropic, Euclidean
from fenchel.errors import InputError

rows = st.sampled_from([2, 5]).flatmap(
    lambda n: st.tuples(
        st.lists(st.floats(0.01, 1), min_size=n, max_size=n),
        st.lists(st.floats(-5, 5), min_size=n, max_size=n),
    )
)


@given(row=rows, step=st.floats(0, 3))
@settings(max_examples=60, deadline=None)
def test_entropic_closed_form(row, step):
    x, update = np.array(row[0]) / sum(row[0]), np.array(row[1])
    ours = Entropic()(jnp.array(x), jnp.array(update), jnp.array(step))
    weights = x * np.exp(step * update)
    np.testing.assert_allclose(ours, weights / weights.sum(), rtol=1e-12)


def test_entropic_step_is_the_kl_argmax():
    x, update, step = np.array([0.2, 0.5, 0.3]), np.array([1.0, -0.5, 2.0]), 0.7
    ours = np.asarray(Entropic()(jnp.array(x), jnp.array(update), jnp.array(step)))

    def cost(z):
        return rel_entr(z, x).sum() / step - update @ z

    sums_to_one = {"type": "eq", "fun": lambda z: z.sum() - 1}
    options = {"bounds": [(1e-9, 1)] * 3, "constraints": [sums_to_one], "tol": 1e-14}
    np.testing.assert_allclose(ours, minimize(cost, np.ones(3) / 3, method="SLSQP", **options).x, atol=1e-6)


def test_entropic_extremes():
    x = jnp.array([[0.5, 0.5, 0.0], [1e-300, 1.0, 0.0], [1.0, 0.0, 0.0]])
    update = jnp.array([[1e6, -1e6, 1e9], [1e4, 0.0, 1e9], [-1e6, 1e6, 0.0]])
    ours = Entropic()(x, update, jnp.array(1.0))
    np.testing.assert_array_equal(ours, [[1, 0, 0], [1, 0, 0], [1, 0, 0]])


def test_entropic_gradient_reaches_the_best_action():
    x = jnp.full((2, 3), 1 / 3)
    for _ in range(200):
        x = Entropic()(x, jnp.array([[0.0, 1.0, 0.5], [2.0, 0.0, 1.0]]), jnp.array(0.3))
    np.testing.assert_allclose(x, [[0, 1, 0], [1, 0, 0]], atol=1e-9)
    np.testing.assert_allclose(x.sum(-1), 1, rtol=1e-14)


def test_euclidean_is_a_gradient_step():
    moved = Euclidean()(jnp.array([1.0, 2.0]), jnp.array([3.0, -1.0]), jnp.array(0.5))
    np.testing.assert_array_equal(moved, [2.5, 1.5])


@pytest.mark.parametrize("cls", MIRRORS.values())
def test_what_has_no_update_stays(cls):
    x = jnp.array([0.5, 0.5])
    params, updates = {"a": x, "b": x, "c": None, "d": "text"}, {"a": x, "b": None, "c": None, "d": None}
    moved = cls()(params, updates, jnp.array(1.0))
    assert moved["b"] is x
    assert (moved["c"], moved["d"]) == (None, "text")
    assert jax.tree.structure(moved) == jax.tree.structure(params)


@pytest.mark.parametrize("cls", MIRRORS.values())
def test_types_follow_the_parameters(cls):
    single = jnp.array([0.5, 0.5], jnp.float32)
    assert cls()(single, single, jnp.array(1.0)).dtype == jnp.float32
    assert cls()(single, single.astype(jnp.float64), jnp.array(1.0)).dtype == jnp.float32


def test_simplex_needs_an_axis():
    with pytest.raises(InputError, match="axis of probabilities"):
        Entropic()(jnp.array(1.0), jnp.array(1.0), jnp.array(1.0))
