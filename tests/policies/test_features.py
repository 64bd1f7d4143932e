"""Features against NumPy formulas."""

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.test_util import check_grads

from fenchel.errors import InputError
from fenchel.policies import RBF, AbstractFeatures, Beside, Bias, OneHot, Raw, Scaled, tamar2014

CENTRES = ((0.0, 0.4, 0.8, 1.2), (0.0, 6.0, 12.0), (-1.0, 1.0))
WIDTHS = (0.4, 6.0, 0.7)
PAIR = [Beside(RBF(CENTRES[:1], (1,)), 1, Scaled((0,), (20,))), Beside(Raw(1), 1, Raw(1))]
ALL = [
    Raw(2),
    OneHot(4),
    Scaled((0, 0), (1, 20)),
    tamar2014(),
    RBF(CENTRES[:2], (1, 1), False),
    Bias(Raw(2)),
    *PAIR,
]


def numpy_rbf(state, normalised):
    points = np.array(list(product(*CENTRES)))
    bumps = np.exp(-0.5 * np.sum(((state - points) / WIDTHS) ** 2, axis=1))
    return bumps / bumps.sum() if normalised else bumps


@pytest.mark.parametrize("normalised", [True, False])
@given(state=st.tuples(st.floats(-1, 3), st.floats(-5, 20), st.floats(-2, 2)))
@settings(max_examples=50, deadline=None)
def test_rbf_is_the_formula(normalised, state):
    ours = RBF(CENTRES, WIDTHS, normalised)(jnp.array(state))
    np.testing.assert_allclose(ours, numpy_rbf(np.array(state), normalised), rtol=1e-10, atol=1e-300)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
@given(state=st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)))
@settings(max_examples=50, deadline=None)
def test_normalised_rbf_sums_to_one_anywhere(dtype, state):
    bumps = tamar2014()(jnp.array(state, dtype))
    assert bumps.dtype == dtype
    assert jnp.all(bumps >= 0)
    np.testing.assert_allclose(bumps.sum(), 1, rtol=20 * float(jnp.finfo(dtype).eps))


def test_far_away_the_nearest_centre_wins():
    for dtype in (jnp.float32, jnp.float64):
        assert tamar2014()(jnp.array([1e9, -1e9], dtype))[7 * 4] == 1
        assert tamar2014()(jnp.array([-1e9, 1e9], dtype))[3] == 1


def test_narrow_bumps_survive_between_centres():
    narrow = RBF(((0.0, 20.0),), (1.0,))
    for dtype in (jnp.float32, jnp.float64):
        np.testing.assert_allclose(narrow(jnp.array([10.0], dtype)), [0.5, 0.5], rtol=1e-6)
    with pytest.raises(InputError, match=r"widths = 0\.9.*20 apart"):
        RBF(((0.0, 20.0),), (0.9,))


def test_normalised_rbf_is_differentiable_in_the_state():
    state = jnp.array([0.5, 7.0, 0.2])
    check_grads(jax.jit(RBF(CENTRES, WIDTHS)), (state,), order=1, rtol=1e-5, atol=1e-6)


def test_tamar_grid():
    np.testing.assert_allclose(tamar2014().centres[0], np.arange(0, 2.9, 0.4))
    assert tamar2014().centres[1] == (0, 6, 12, 18)


def test_scaled_maps_bounds_to_bounds():
    features = Scaled((-2, 0), (3, 10), (0, 1))
    np.testing.assert_allclose(features(jnp.array([-2.0, 10.0])), [0, 1], atol=1e-15)
    np.testing.assert_allclose(features(jnp.array([0.5, 5.0])), [0.5, 0.5])


@pytest.mark.parametrize("features", ALL)
def test_contract(features):
    """No array leaves, hashable, the promised size, and constants where promised."""
    assert jax.tree.leaves(features) == []
    assert isinstance(hash(features), int)
    observation = jnp.array(3) if isinstance(features, OneHot) else jnp.array([0.3, 7.0])
    values = features(observation)
    assert values.shape == (features.size,)
    if features.constant is not None:
        np.testing.assert_allclose(jnp.array(features.constant) @ values, 1)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_types_follow_the_observation(dtype):
    for features in (Raw(2), Scaled((0, 0), (1, 20)), tamar2014(), Bias(Raw(2))):
        assert features(jnp.zeros(2, dtype)).dtype == dtype
        assert features(jnp.zeros(2, jnp.int32)).dtype == jnp.float64


def test_beside_splits_the_observation():
    features = Beside(tamar2014(), 2, Scaled((0, 0), (1, 20)))
    seen = jnp.array([0.5, 7.0, 0.25, 5.0])
    np.testing.assert_array_equal(
        features(seen), [*tamar2014()(seen[:2]), *Scaled((0, 0), (1, 20))(seen[2:])]
    )
    with pytest.raises(InputError, match=r"observation\.shape = \(1,\): these features take 2 numbers"):
        features(seen[:3])


def test_observations_are_flattened_and_checked():
    assert Raw(4)(jnp.ones((2, 2))).shape == (4,)
    for features in (Raw(2), Scaled((0, 0), (1, 20)), tamar2014()):
        with pytest.raises(InputError, match=r"observation\.shape = \(3,\): these features take 2 numbers"):
            features(jnp.zeros(3))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Raw(0),
        lambda: OneHot(-1),
        lambda: Scaled((0, 1), (1,)),
        lambda: Scaled((0,), (0,)),
        lambda: Scaled((0,), (float("inf"),)),
        lambda: Scaled((0,), (1,), (1, -1)),
        lambda: RBF((), ()),
        lambda: Beside(Raw(1), 0, Raw(1)),
        lambda: RBF(((),), (1,)),
        lambda: RBF(((0, 1),), (0,)),
        lambda: RBF(((0, 1),), (1, 1)),
        lambda: RBF(((0, float("nan")),), (1,)),
    ],
)
def test_fields_are_checked(wrong):
    with pytest.raises(InputError):
        wrong()


def test_features_may_not_hold_parameters():
    class Learned(AbstractFeatures):
        scale: jax.Array

        @property
        def size(self):
            return 1

        def __call__(self, observation):
            return observation * self.scale

    with pytest.raises(InputError, match="static"):
        Learned(jnp.ones(1))
