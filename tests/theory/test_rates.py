"""Measured rates: the fit, the runs behind it, and the bound above them."""

import json
from dataclasses import asdict

import jax.numpy as jnp
import numpy as np
import pytest

import fenchel
from fenchel import InputError
from fenchel.exact import gradient, played
from fenchel.policies import Tabular
from fenchel.theory import (
    Steps,
    drawn_norms,
    fit_slope,
    one_two_five,
    option_one,
    path_norms,
    proved_constants,
    rates,
    straddle,
    summarise_option_one,
    summarise_rates,
)

pytestmark = pytest.mark.slow

COUNTS, SEEDS = [100, 1000, 10_000], range(32)


@pytest.fixture(scope="module")
def measured():
    return rates(straddle(), COUNTS, seeds=SEEDS)


def test_a_slope_that_is_known_is_recovered():
    generator = np.random.default_rng(0)
    counts = [10**k for k in range(2, 7)]
    values = 3 * np.array(counts)[:, None] ** -0.5 * generator.exponential(size=(5, 400))
    found = fit_slope(counts, values)
    assert found.low < -0.5 < found.high
    assert found.high - found.low < 0.1
    exact = fit_slope(counts, 3 * np.array(counts)[:, None] ** np.full((5, 2), -0.5))
    assert np.allclose([exact.value, exact.low, exact.high, np.exp(exact.intercept)], [-0.5, -0.5, -0.5, 3])


def test_intervals_cover_as_often_as_they_say():
    generator = np.random.default_rng(1)
    counts, hits = [10, 100, 1000], 0
    for _ in range(200):
        values = np.array(counts)[:, None] ** -0.5 * generator.exponential(size=(3, 64))
        found = fit_slope(counts, values, resamples=200)
        hits += found.low < -0.5 < found.high
    assert abs(hits / 200 - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 200)


def test_the_gradient_falls_and_the_bound_is_above_it(measured):
    assert measured.slope.low < measured.slope.value < measured.slope.high < -0.3
    assert measured.least_ratio > 1
    for point in measured.points:
        assert point.low < point.mean < point.high < point.searched.corrected < point.proved.corrected
        assert point.proved.corrected < point.proved.printed


def test_what_is_measured_is_the_exact_gradient_at_the_drawn_iterate(measured):
    instance, step = straddle(), 2 / np.sqrt(1000)
    rows = fenchel.sweep(
        instance.env,
        "mvp",
        policy="tabular",
        risk_aversion=instance.risk_aversion,
        dual=instance.first_dual,
        episodes=1000,
        policy_step_size=step,
        dual_step_size=step,
        output="weighted",
        smoothness=proved_constants(instance).smoothness,
        seed=SEEDS,
    ).rows
    found = drawn_norms(instance, 1000, SEEDS)
    for row, own in list(zip(rows, found, strict=True))[:4]:
        policy = Tabular(jnp.asarray(row.policy.table))
        slope = gradient(instance.problem, policy, instance.objective, row.dual).table
        mean = played(instance.problem, policy).law.mean
        assert np.isclose(own, np.sum(slope**2) + (2 * (mean + instance.shift - row.dual)) ** 2, rtol=1e-9)
    assert np.isclose(np.mean(found), measured.points[1].mean, rtol=1e-12)


def test_results_are_json_and_come_again_from_the_numbers(measured):
    text = json.dumps(asdict(measured))
    assert json.loads(text)["points"][0]["iterations"] == 100
    values = {count: drawn_norms(straddle(), count, SEEDS) for count in COUNTS}
    assert json.dumps(asdict(summarise_rates(straddle(), values))) == text


def test_steps_that_would_let_the_dual_leave_its_range_are_refused():
    with pytest.raises(InputError, match="y stays in its range"):
        drawn_norms(straddle(), 100, range(2), scale=6.0)
    with pytest.raises(InputError, match="keep y in range"):
        path_norms(straddle(), [100], range(2), steps=Steps(value=0.6))


def test_values_that_make_no_line_are_refused():
    with pytest.raises(InputError, match="two points"):
        fit_slope([10], np.ones((1, 3)))
    with pytest.raises(InputError, match="positive number"):
        fit_slope([10, 20], np.zeros((2, 3)))


def test_a_shorter_run_is_the_beginning_of_a_longer_one(monkeypatch):
    monkeypatch.setattr("fenchel.theory.runs.MARKS", 30)  # so that 101 is none of them
    steps, seeds = Steps(offset=100.0), range(8)
    whole = path_norms(straddle(), [101, 3000], seeds, steps=steps)
    assert list(whole) == [101, 3000]
    alone = path_norms(straddle(), [101], seeds, steps=steps)
    assert np.allclose(whole[101], alone[101], rtol=1e-9)


def test_option_one_comes_to_rest():
    found = option_one(straddle(), one_two_five(100, 20_000), range(8), steps=Steps(offset=100.0))
    assert json.loads(json.dumps(asdict(found)))["steps"]["offset"] == 100
    points = {point.iterations: point for point in found.points}
    assert list(points) == [100, 200, 500, 1000, 2000, 5000, 10_000, 20_000]
    assert all(point.low <= point.median <= point.high for point in found.points)
    assert points[20_000].mean < 0.3 * points[100].mean
    assert found.slope.high < 0
    assert np.isclose(points[100].step_size, 0.25 / 2**0.75)


def test_the_slope_of_option_one_is_of_the_late_part():
    counts = [10, 100, 1000, 10_000]
    values = {n: (5.0, 5.0) if n < 100 else (float(n) ** -0.4, float(n) ** -0.4) for n in counts}
    found = summarise_option_one(straddle(), values, steps=Steps(offset=100.0))
    assert np.isclose(found.slope.value, -0.4)
    with pytest.raises(InputError, match="two of them"):
        summarise_option_one(straddle(), {10: (1.0,), 200: (1.0,)}, steps=Steps(offset=100.0))
