"""The bounds against numbers worked out by hand, and what must hold between them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fenchel import InputError
from fenchel.theory import (
    Constants,
    bias_bound,
    corollary_bound,
    cyclic_bound,
    cyclic_constant,
    draw_weights,
    mvp_bound,
    mvp_constant,
)

PLAIN = Constants(smoothness=2.0, gradient=3.0, deviation=4.0, sample_smoothness=5.0, sample_gradient=7.0)
sizes = st.floats(0.01, 100.0)


def drawn(smooth, slope, noise, bias=1.0):
    return Constants(smooth, slope, noise, 1.0, 1.0, bias)


def test_lemma_2():
    found = bias_bound(PLAIN, blocks=3)
    assert (found.label, found.printed, found.corrected) == ("eq:stocerrbd", 2 * 2 * 3 * 3, 2 * 2 * 5 * 7)
    assert bias_bound(PLAIN, blocks=1).corrected == 0


def test_constant_of_the_cyclic_theorem():
    # β = 0.1: 1 − Lβ/2 = 0.9; √(G² + σ²) = 5; A printed 36, corrected 140; s = (0, 5, √(25 + 49))
    found = cyclic_constant(PLAIN, 0.1, blocks=3)
    assert np.isclose(found.printed, 0.9 * 2 * (5 + np.sqrt(50)) + 3 * (36 * 3 + 16))
    moved = np.array([0, 5, np.sqrt(74)])
    squares = np.sum(2 * 3 * 2 * moved + 4 * 0.1 * moved**2)
    assert np.isclose(found.corrected, 0.9 * squares + 2 * 140 * 3 + 2 * 4 * moved.sum() + 3 * 16)


def test_constant_of_the_mvp_theorem():
    # A printed 24, corrected 70 for two blocks
    found = mvp_constant(PLAIN, 0.1)
    cross = 4 * 1.2 * (3 * 16 + 2 * 9)
    assert found.label == "eq:C"
    assert np.isclose(found.printed, 0.9 * (4 * 0.1 * 25 + 2 * (18 + 16)) + 24 * 3 + 32 + cross)
    assert np.isclose(found.corrected, 0.9 * (60 + 10) + 70 * 3 + 40 + 32)
    known = replace(PLAIN, bias=2.0)
    assert np.isclose(mvp_constant(known, 0.1).corrected, 0.9 * (60 + 10) + 2 * 3 + 40 + 32)


def test_theorems_put_gap_and_constant_together():
    constant = mvp_constant(PLAIN, 0.02)
    found = mvp_bound(PLAIN, 5.0, 1000, policy_step_size=0.02, dual_step_size=0.01)
    weight = 1000 * (0.01 - 0.02**2)
    assert found.label == "eq:thm2"
    assert np.isclose(found.printed, (5 + 1000 * 0.02**2 * constant.printed) / weight)
    assert np.isclose(found.corrected, (5 + 1000 * 0.02**2 * constant.corrected) / weight)


def test_the_cyclic_theorem_sums_over_steps():
    largest, smallest = np.array([0.02, 0.01, 0.02]), np.array([0.01, 0.01, 0.005])
    found = cyclic_bound(PLAIN, 5.0, smallest, largest, blocks=3)
    each = [cyclic_constant(PLAIN, size, blocks=3).corrected for size in largest]
    assert np.isclose(found.corrected, (5 + np.sum(largest**2 * each)) / np.sum(smallest - largest**2))


def test_with_two_blocks_and_constant_steps_the_corrected_theorems_agree():
    step = 3 / np.sqrt(400)
    steps = np.full(400, step)
    by_mvp = mvp_bound(PLAIN, 5.0, 400, step, step)
    assert np.isclose(cyclic_bound(PLAIN, 5.0, steps, steps).corrected, by_mvp.corrected)
    corollary = corollary_bound(PLAIN, 5.0, 400, scale=3.0)
    assert np.isclose(corollary.corrected, by_mvp.corrected)
    assert np.isclose(corollary.printed, np.sqrt((5 + cyclic_constant(PLAIN, step).printed) / 400))


def test_the_corollary_as_printed_is_no_bound_with_any_fixed_constant():
    """In units k times as small, both sides should be k² times as large; the printed side is not."""

    def ratio(unit):
        constants = Constants(1.0, unit, unit, 1.0, unit, bias=unit)
        found = corollary_bound(constants, unit**2, 10**6, scale=1.0)
        return found.corrected / unit**2, found.printed / unit**2

    (small, printed_small), (large, printed_large) = ratio(1.0), ratio(1000.0)
    assert np.isclose(small, large)
    assert printed_large < 0.01 * printed_small


@given(sizes, sizes, sizes, st.floats(0, 100), st.floats(0.001, 0.999))
def test_with_the_same_bias_the_corrected_constant_is_never_greater(smooth, slope, noise, bias, share):
    step = share * 2 / smooth
    bare = mvp_constant(drawn(smooth, slope, noise, 0.0), step)
    assert bare.corrected <= bare.printed * (1 + 1e-12)
    moved = mvp_constant(drawn(smooth, slope, noise, bias), step)
    assert np.isclose(moved.corrected - bare.corrected, bias * slope, atol=1e-9 * moved.corrected)


@given(sizes, sizes, sizes, st.floats(1.01, 10), st.integers(1, 10**6))
def test_more_of_anything_bad_is_a_greater_bound(smooth, slope, noise, more, count):
    step = 0.5 / (smooth * more * np.sqrt(count))

    def bound(constants, gap=1.0, iterations=count):
        found = mvp_bound(constants, gap, iterations, step, step)
        return np.array([found.printed, found.corrected])

    base = bound(drawn(smooth, slope, noise))
    assert np.all(bound(drawn(more * smooth, slope, noise)) > base)
    assert np.all(bound(drawn(smooth, more * slope, noise)) > base)
    assert np.all(bound(drawn(smooth, slope, more * noise)) > base)
    assert np.all(bound(drawn(smooth, slope, noise), gap=more) > base)
    assert np.all(bound(drawn(smooth, slope, noise), iterations=2 * count) < base)


def test_the_rate_of_the_bound_is_one_half():
    step = {n: 0.1 / np.sqrt(n) for n in (10**6, 10**8)}
    few, many = (mvp_bound(PLAIN, 5.0, n, size, size).corrected for n, size in step.items())
    assert np.isclose(many / few, 0.1, rtol=1e-3)


def test_the_draw():
    found = draw_weights(np.array([0.1, 0.2]), np.array([0.2, 0.3]), smoothness=2.0)
    assert np.allclose(found.corrected, np.array([0.06, 0.11]) / 0.17)
    assert np.allclose(found.printed, found.corrected)
    constant = draw_weights(np.full(5, 0.1), np.full(5, 0.1), smoothness=2.0)
    assert np.allclose(constant.corrected, 0.2)


def test_a_draw_that_is_no_distribution_as_printed():
    found = draw_weights(np.array([0.5, 0.1]), np.array([0.5, 0.6]), smoothness=2.0)
    assert np.min(found.printed) < 0
    assert found.corrected.tolist() == [1, 0]


@pytest.mark.parametrize("step", [1.0, 1.5])
def test_steps_too_long_for_the_theorems_are_refused(step):
    for attempt in (
        lambda: mvp_bound(PLAIN, 1.0, 10, step, step),
        lambda: mvp_bound(PLAIN, 1.0, 10, 0.9, 0.1),
        lambda: cyclic_bound(PLAIN, 1.0, np.full(2, step), np.full(2, step)),
        lambda: corollary_bound(PLAIN, 1.0, 4, scale=2 * step),
    ):
        with pytest.raises(InputError, match="2 β_min > L β_max²"):
            attempt()
    with pytest.raises(InputError, match="no iterate a positive weight"):
        draw_weights(np.full(2, step), np.full(2, step), smoothness=2.0)


@pytest.mark.parametrize("field", ["smoothness", "gradient", "deviation", "sample_gradient", "bias"])
def test_constants_are_numbers_above_zero(field):
    with pytest.raises(InputError, match=field):
        replace(PLAIN, **{field: -1.0})
