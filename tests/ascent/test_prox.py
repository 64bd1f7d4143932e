"""Proximal operators against general-purpose minimisers and closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, minimize_scalar

from fenchel.ascent.prox import L1, PROXES, Ball, Box, GroupL1, Simplex, SquaredL2
from fenchel.errors import InputError

ONE = jnp.array(1.0)
numbers = st.floats(-20, 20, allow_subnormal=False)
vectors = st.sampled_from([1, 2, 5]).flatmap(lambda n: st.lists(numbers, min_size=n, max_size=n))
strengths = st.floats(0, 5)
quick = settings(max_examples=40, deadline=None)

EXAMPLES = {
    "l1": L1(0.3),
    "group-l1": GroupL1(0.3),
    "squared-l2": SquaredL2(0.3),
    "box": Box(-0.5, 0.5),
    "simplex": Simplex(),
    "ball": Ball(0.7),
}


@given(x=numbers, strength=strengths, step=st.floats(0.01, 2))
@quick
def test_separable_penalties_minimise(x, strength, step):
    penalties = {L1(strength): abs, SquaredL2(strength): lambda z: 0.5 * z**2}
    for prox, penalty in penalties.items():

        def cost(z, penalty=penalty):
            return step * strength * penalty(z) + 0.5 * (z - x) ** 2

        ours = float(prox(jnp.array(x), jnp.array(step)))
        best = minimize_scalar(cost, bounds=(-25, 25), method="bounded", options={"xatol": 1e-10}).fun
        assert cost(ours) <= best + 1e-9


@given(x=vectors, strength=strengths, step=st.floats(0.01, 2))
@quick
def test_group_penalty_minimises(x, strength, step):
    """The minimiser lies on the ray through x, so the problem has one dimension."""
    x = np.array(x)
    length = np.linalg.norm(x)
    ours = np.asarray(GroupL1(strength)(jnp.array(x), jnp.array(step)))

    def cost(scale):
        return step * strength * scale * length + 0.5 * ((scale - 1) * length) ** 2

    best = minimize_scalar(cost, bounds=(0, 1), method="bounded", options={"xatol": 1e-10}).x
    np.testing.assert_allclose(ours, best * x, atol=1e-4)


def test_group_penalty_has_no_better_neighbour():
    """Optimality in all directions, for rows of a matrix and for its columns."""
    x = jax.random.normal(jax.random.key(0), (4, 3))
    for axis in (0, 1):
        best = np.asarray(GroupL1(1.3, axis)(x, jnp.array(0.8)))

        def cost(z, axis=axis):
            return 0.8 * 1.3 * np.linalg.norm(z, axis=1 - axis).sum() + 0.5 * np.sum((z - x) ** 2)

        result = minimize(lambda z: cost(z.reshape(4, 3)), best.ravel() + 0.1, method="Powell", tol=1e-12)
        assert cost(best) <= result.fun + 1e-9


def test_group_axes():
    x = jnp.array([[3.0, 0.0], [4.0, 0.1]])
    np.testing.assert_allclose(GroupL1(1.0, 1)(x, ONE), [[2.4, 0], [3.2, 0]], atol=1e-15)
    np.testing.assert_allclose(GroupL1(1.0, -1)(x, ONE), [[2.4, 0], [3.2, 0]], atol=1e-15)
    np.testing.assert_allclose(GroupL1(1.0)(jnp.array([3.0, 4.0]), ONE), [2.4, 3.2])
    cube = jax.random.normal(jax.random.key(1), (2, 3, 4))
    rows = GroupL1(1.0)(cube.reshape(2, 12), ONE)
    np.testing.assert_allclose(GroupL1(1.0)(cube, ONE), rows.reshape(2, 3, 4))
    with pytest.raises(InputError, match="axis = 2"):
        GroupL1(1.0, 2)(x, ONE)


def simplex_by_bisection(x):
    low, high = x.min() - 1, x.max()
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(x - middle, 0).sum() > 1 else (low, middle)
    return np.maximum(x - high, 0)


@given(x=vectors)
@quick
def test_simplex_projection(x):
    ours = np.asarray(Simplex()(jnp.array(x), ONE))
    assert ours.min() >= 0
    np.testing.assert_allclose(ours.sum(), 1, rtol=1e-13)
    np.testing.assert_allclose(ours, simplex_by_bisection(np.array(x)), atol=1e-12)


def test_simplex_projects_the_last_axis():
    x = jax.random.normal(jax.random.key(0), (3, 2, 5)) * 3
    ours = Simplex()(x, ONE)
    for index in np.ndindex(3, 2):
        np.testing.assert_allclose(ours[index], simplex_by_bisection(np.asarray(x[index])), atol=1e-14)
    np.testing.assert_allclose(Simplex()(ours, ONE), ours, atol=1e-15)
    np.testing.assert_allclose(Simplex()(jnp.array([1e9, 1e9 + 1]), ONE), [0, 1])
    with pytest.raises(InputError, match="axis of probabilities"):
        Simplex()(ONE, ONE)


@given(x=vectors, y=vectors, radius=st.floats(0.1, 10))
@quick
def test_ball_projection_is_joint(x, y, radius):
    ours = Ball(radius)({"x": jnp.array(x), "y": jnp.array(y), "none": None}, ONE)
    both, length = np.array([*x, *y]), np.linalg.norm([*x, *y])
    expected = both if length <= radius else both * radius / length
    np.testing.assert_allclose(np.concatenate([ours["x"], ours["y"]]), expected, rtol=1e-12, atol=1e-300)


@given(x=vectors)
@quick
def test_box_projection(x):
    np.testing.assert_array_equal(Box(-1.0, float("inf"))(jnp.array(x), ONE), np.maximum(x, -1))


def test_every_prox_is_nonexpansive_and_firm():
    """‖Px − Py‖² ≤ ⟨Px − Py, x − y⟩, which only proximal operators of convex functions satisfy."""
    assert set(EXAMPLES) == set(PROXES)
    x, y = jax.random.normal(jax.random.key(0), (2, 50, 4))
    for prox in EXAMPLES.values():
        moved = prox(x, ONE) - prox(y, ONE)
        assert jnp.sum(moved**2) <= jnp.sum(moved * (x - y)) + 1e-12


@pytest.mark.parametrize("prox", EXAMPLES.values(), ids=EXAMPLES.keys())
@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_leaves_keep_type_and_structure(prox, dtype):
    params = {
        "a": jnp.zeros((3, 2), dtype),
        "b": None,
        "c": (jnp.ones(2, dtype),),
        "d": jnp.arange(2),
        "e": "text",
    }
    for step in (ONE, jnp.float32(0.5)):
        moved = jax.tree.map(lambda x: x, prox(params, step))
        assert jax.tree.structure(moved) == jax.tree.structure(params)
        assert (moved["a"].dtype, moved["c"][0].dtype) == (dtype, dtype)
        assert (moved["d"] is params["d"], moved["e"]) == (True, "text")
        assert all(bool(jnp.isfinite(leaf).all()) for leaf in (moved["a"], *moved["c"]))


def test_strengths_may_be_traced():
    for prox in (L1(0.3), GroupL1(0.3), SquaredL2(0.3), Ball(0.7), Box(-0.5, 0.5)):
        x = jnp.array([[1.0, -2.0]])
        np.testing.assert_allclose(
            jax.jit(lambda p, x=x: p(x, ONE))(jax.tree.map(jnp.asarray, prox)), prox(x, ONE)
        )


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: L1(-1.0),
        lambda: GroupL1(float("nan")),
        lambda: SquaredL2(float("inf")),
        lambda: Box(1.0, 0.0),
        lambda: Box(float("nan"), 0.0),
        lambda: Ball(0.0),
    ],
)
def test_fields_are_checked(wrong):
    with pytest.raises(InputError):
        wrong()
