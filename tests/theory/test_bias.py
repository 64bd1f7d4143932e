"""The bias of MVP's θ direction: exact, sampled, bounded, and gone with a fresh batch."""

import json
from dataclasses import asdict

import numpy as np
import pytest

from fenchel import InputError, sga
from fenchel.theory import (
    bias,
    bias_slope,
    check_lemma,
    exact_bias,
    far_from_zero,
    sampled_errors,
    straddle,
)

STEPS = [0.05, 0.2, 0.5]
THETA = [0.5, -1.0, 0.3, 1.2, -0.4, 0.8]


@pytest.fixture(scope="module")
def measured():
    return bias(straddle(), STEPS, episodes=100_000, theta=THETA)


def test_it_grows_linearly_in_the_step_of_the_dual(measured):
    slopes = [point.shared / point.step_size for point in measured.points]
    assert np.allclose(slopes, measured.slope)
    assert measured.slope > 0


def test_a_fresh_batch_has_none(measured):
    assert max(point.fresh for point in measured.points) < 1e-14


def test_the_solver_itself_does_what_is_computed(measured):
    for point in measured.points:
        for sampled, exact in ((point.sampled_shared, point.shared), (point.sampled_fresh, 0.0)):
            assert abs(sampled.along - exact) < 4 * sampled.error
            assert sampled.worst < 4
    last = measured.points[-1]
    assert last.sampled_shared.along > 20 * last.sampled_shared.error


def test_lemma_2_is_above_it(measured):
    assert measured.slope < measured.sharp < measured.lemma.corrected
    assert measured.slope < measured.lemma.printed


def test_lemma_2_as_printed_fails_far_from_zero():
    """With L and G of f̂, the proved ones included; with those of single samples it holds."""
    found = check_lemma(far_from_zero())
    play = far_from_zero().paths.play(np.zeros(3))
    assert found.lemma.printed <= found.printed_by_proof < np.linalg.norm(bias_slope(play)) <= found.largest
    assert found.largest < found.sharp < found.lemma.corrected
    assert not found.printed_holds
    near = check_lemma(straddle())
    assert near.largest < near.sharp < near.printed_by_proof
    assert near.printed_holds


@pytest.mark.parametrize("dual", [0.5, 1.0, 1.6])
def test_it_does_not_depend_on_the_dual(dual):
    instance = straddle()
    play = instance.paths.play(np.array(THETA))
    found = exact_bias(instance, play, dual, 0.3, fresh=False)
    assert np.allclose(found, 0.3 * bias_slope(play), atol=1e-15)
    assert np.allclose(exact_bias(instance, play, dual, 0.3, fresh=True), 0, atol=1e-15)


def test_cyclic_is_not_simultaneous(measured):
    """At the best dual SGA's direction has no bias, where MVP's has one."""
    instance, theta = straddle(), np.array(THETA)
    play = instance.paths.play(theta)
    exact = exact_bias(instance, play, 0.0, 0.5, fresh=False)
    dual = float(play.mean_return) + instance.shift
    along = (exact / np.linalg.norm(exact))[:, None]

    mean, error = sampled_errors(instance, sga(1.0, 0.5), theta, dual, along, 100_000, seed=1)
    assert abs(mean[0]) < 4 * error[0]
    assert measured.points[-1].sampled_shared.along > mean[0] + 20 * error[0]


def test_results_are_json_and_repeat(measured):
    again = bias(straddle(), STEPS, episodes=100_000, theta=THETA)
    assert json.dumps(asdict(again)) == json.dumps(asdict(measured))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"step_sizes": [0.6]}, "at most 1/2"),
        ({"step_sizes": []}, "one at least"),
        ({"theta": [0.0]}, "must hold 6 logits"),
        ({"episodes": 10}, "at least 10000"),
    ],
)
def test_bad_input_is_refused(given, message):
    with pytest.raises(InputError, match=message):
        bias(straddle(), **{"step_sizes": [0.1], "episodes": 10_000, **given})
