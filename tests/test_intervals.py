"""The scale between acting at random and the optimum, and bootstrap intervals."""

import numpy as np
import pytest
from scipy import stats

from fenchel.intervals import around, bootstrap_cells, bootstrap_mean
from fenchel.studies import Scale


def test_share_runs_from_random_to_the_bound():
    scale = Scale(uniform=-3.0, attained=0.5, upper=1.0)
    np.testing.assert_allclose(scale.share([-3.0, -1.0, 1.0, -7.0]), [0.0, 0.5, 1.0, -1.0])


def test_where_nothing_can_be_gained_the_best_has_all_of_it():
    scale = Scale(uniform=2.0, attained=2.0, upper=2.0)
    np.testing.assert_array_equal(scale.share([2.0, 1.0]), [1.0, -np.inf])


def test_bootstrap_agrees_with_scipy():
    data = np.random.default_rng(3).exponential(size=60)
    ours = bootstrap_mean(data)
    theirs = stats.bootstrap((data,), np.mean, method="percentile", n_resamples=20_000, rng=1)
    assert ours.estimate == pytest.approx(data.mean())
    error = theirs.standard_error
    low, high = theirs.confidence_interval
    assert abs(ours.low - low) < 0.2 * error
    assert abs(ours.high - high) < 0.2 * error


def test_intervals_cover_the_mean_about_as_often_as_they_say():
    generator = np.random.default_rng(0)
    found = [bootstrap_mean(generator.normal(size=40), resamples=400) for _ in range(400)]
    covered = np.mean([interval.low <= 0 <= interval.high for interval in found])
    assert abs(covered - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 400) + 0.02  # percentile intervals are a bit short


def test_cells_are_drawn_by_themselves():
    cells = np.random.default_rng(5).normal(size=(2, 3, 50)) + np.arange(6).reshape(2, 3, 1)
    drawn = bootstrap_cells(cells, resamples=500)
    assert drawn.shape == (500, 2, 3)
    np.testing.assert_allclose(drawn.std(axis=0), cells.std(axis=-1) / np.sqrt(50), rtol=0.2)
    correlation = np.corrcoef(drawn.reshape(500, 6).T) - np.eye(6)
    assert np.max(np.abs(correlation)) < 5 / np.sqrt(500)


def test_around_takes_quantiles():
    assert around(5.0, np.arange(101), level=0.9) == pytest.approx((5.0, 5.0, 95.0))
