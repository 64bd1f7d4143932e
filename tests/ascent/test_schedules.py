"""Step sizes."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fenchel.ascent.schedules import SCHEDULES, Constant, RobbinsMonro
from fenchel.errors import InputError

STEPS = jnp.arange(5)


def test_constant():
    np.testing.assert_array_equal(Constant(0.3)(STEPS), 0.3 * np.ones(5))
    assert Constant(0.3)(jnp.array(2)).shape == ()


@given(value=st.just(0.0) | st.floats(1e-9, 10), offset=st.floats(0.1, 1e4), exponent=st.floats(0.51, 1))
@settings(max_examples=50, deadline=None)
def test_robbins_monro_is_its_formula(value, offset, exponent):
    ours = RobbinsMonro(value, offset, exponent)(STEPS)
    np.testing.assert_allclose(ours, value / (1 + np.arange(5) / offset) ** exponent, rtol=1e-12)


def test_robbins_monro_sums():
    """Σβ diverges and Σβ² does not: the tails from n to 2n grow, or shrink."""
    steps = RobbinsMonro(1.0, 10.0, 0.75)(jnp.arange(2**16))
    tails = [jnp.stack([x.sum(), (x**2).sum()]) for x in (steps[2**k : 2 ** (k + 1)] for k in range(8, 16))]
    first, squares = np.array(tails).T
    assert np.all(np.diff(first) > 0)
    assert np.all(np.diff(squares) < 0)


@pytest.mark.parametrize("schedule", [Constant(0.5), RobbinsMonro(0.5, 10.0, 0.75)])
def test_numbers_may_be_traced(schedule):
    leaves = jax.tree.map(jnp.asarray, schedule)
    np.testing.assert_allclose(eqx.filter_jit(leaves)(jnp.array(3)), schedule(jnp.array(3)))
    many = jax.tree.map(lambda x: jnp.stack([x, x]), leaves)
    assert jax.vmap(lambda s: s(jnp.array(3)))(many).shape == (2,)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ((-0.1,), "value = -0.1"),
        ((float("nan"),), "value = nan"),
        ((float("inf"),), "value = inf"),
        ((1.0, 0.0), "offset = 0.0"),
        ((1.0, 1.0, 0.5), "exponent = 0.5: must be above 1/2"),
        ((1.0, 1.0, 1.01), "exponent = 1.01"),
    ],
)
def test_fields_are_checked(fields, message):
    with pytest.raises(InputError, match=message):
        RobbinsMonro(*fields)


def test_every_schedule_has_a_base_and_may_be_zero():
    for cls in SCHEDULES.values():
        assert cls(0.0).value == 0
        assert cls(0.0)(jnp.array(0)) == 0
        with pytest.raises(InputError, match="value"):
            cls(-1.0)
