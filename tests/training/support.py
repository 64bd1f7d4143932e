"""What the tests of training share: a small sweep and its problems."""

import jax
import numpy as np

from fenchel import Settings
from fenchel.training.resolve import resolve


def problems(env="option", algorithm="mvp", policy=None, rows=({},), **settings):
    """Resolved problems, one for each row of changes."""
    base = Settings(**{"policy_step_size": 0.1, **settings})
    return [resolve(env, algorithm, policy, None, base.changed(row)) for row in rows]


def leaves(result):
    """Every array of a result's policy, and its dual."""
    arrays = [np.asarray(leaf) for leaf in jax.tree.leaves(result.policy)]
    return [*arrays, np.asarray(np.nan if result.dual is None else result.dual)]


def assert_same(one, two):
    """Two results are equal to the bit, their metrics included."""
    for left, right in zip(leaves(one), leaves(two), strict=True):
        np.testing.assert_array_equal(left, right)
    assert one.metrics.keys() == two.metrics.keys()
    for name, column in one.metrics.items():
        np.testing.assert_array_equal(column, two.metrics[name], err_msg=name)


def assert_close(one, two):
    """The same, but for the rounding that hundreds of updates pile up."""
    for left, right in zip(leaves(one), leaves(two), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-9, atol=1e-12)
    assert one.metrics.keys() == two.metrics.keys()
    for name, column in one.metrics.items():
        np.testing.assert_allclose(column, two.metrics[name], rtol=1e-9, atol=1e-12, err_msg=name)


def assert_same_arrays(one, two):
    """Two sets of named arrays are equal to the bit."""
    assert one.keys() == two.keys()
    for name, array in one.items():
        np.testing.assert_array_equal(array, two[name], err_msg=name)
