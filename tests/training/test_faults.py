"""A learner that meets a non-finite value stops and says so; callbacks watch, and may end a run."""

import jax
import numpy as np
import pytest
from training.support import leaves, problems

from fenchel import load, make, sweep, train
from fenchel.training import RunDirectory
from fenchel.training.parts import Parts

ROWS = ({"dual_step_size": 0.1}, {"dual_step_size": 1e30}, {"dual_step_size": 0.2})


def test_a_learner_that_blows_up_stops_at_its_last_finite_state():
    how = {"env": make("option", horizon=6), "episodes": 200}
    parts = Parts(problems(rows=ROWS, **how))
    parts.advance(0, 200)
    faults, stopped = parts.gather(lambda learner: (learner.fault, learner.stopped))
    assert (faults >= 0).tolist() == [False, True, False]
    assert parts.fault_names()[faults[1]] in ("policy.weights", "dual")
    before = Parts(problems(rows=ROWS, **how))
    before.advance(0, int(stopped[1]))
    beyond = Parts(problems(rows=ROWS, **how))
    beyond.advance(0, int(stopped[1]) + 1)
    assert before.gather(lambda learner: learner.fault)[1] < 0 <= beyond.gather(lambda x: x.fault)[1]
    for name, array in before.arrays().items():
        if name not in ("fault", "stopped"):
            np.testing.assert_array_equal(parts.arrays()[name][1], array[1], err_msg=name)
            assert np.isfinite(array[1]).all()


def test_the_others_of_a_sweep_go_on():
    how = {"env": make("option", horizon=6), "episodes": 200, "policy_step_size": 0.1}
    table = sweep(**how, dual_step_size=[0.1, 1e30, 0.2])
    assert [row.status for row in table.rows] == ["done", "diverged", "done"]
    assert table.status == "done"
    fault = table.rows[1].fault
    assert "became non-finite in iteration" in fault
    assert all(np.isfinite(leaf).all() for row in table.rows for leaf in leaves(row))
    alone = train(**how, dual_step_size=0.2)
    for left, right in zip(leaves(table.rows[2]), leaves(alone), strict=True):
        np.testing.assert_array_equal(left, right)


def test_a_run_in_which_all_learners_blow_up_ends_at_once():
    result = train("option", episodes=10**9, policy_step_size=0.1, dual_step_size=1e30)
    assert result.status == "diverged"
    assert result.fault == f"{result.fault.split()[0]} became non-finite in iteration {result.episodes - 1}"
    assert result.episodes < 1000


def test_a_learner_that_blew_up_played_no_more_than_it_did():
    how = {"env": make("option", horizon=6), "episodes": 900, "batch_size": 3, "policy_step_size": 0.1}
    table = sweep(**how, dual_step_size=[0.1, 1e30])
    good, bad = table.rows
    stopped = int(bad.fault.split()[-1])
    assert (good.episodes, bad.episodes) == (900, 3 * (stopped + 1))
    assert table.episodes == good.episodes + bad.episodes < 1800


def test_resuming_what_diverged_does_not_advance_it(tmp_path):
    how = {"episodes": 10**9, "policy_step_size": 0.1, "dual_step_size": 1e30, "out": tmp_path / "run"}
    first = train("option", **how)
    before = sorted(path.name for path in (tmp_path / "run").iterdir())
    again = train("option", **how, resume=True, callbacks=[pytest.fail])
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == before
    for result in (again, load(tmp_path / "run")):
        assert (result.status, result.fault) == ("diverged", first.fault)
        assert result.episodes == first.episodes
    said = RunDirectory(tmp_path / "run").read_result()
    assert (said["iteration"], said["fault"]) == (first.episodes, first.fault)


def test_an_infinite_return_is_blamed_on_the_return():
    """Wealth grows by 10³⁰⁰ a step, so a few steps of waiting are enough."""
    env = make("portfolio", liquid_rate=1e200, horizon=5)
    result = train(env, "pg", episodes=100, policy_step_size=0.1)
    assert result.status == "diverged"
    assert result.fault == "return became non-finite in iteration 0"
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(result.policy))


def test_callbacks_see_where_the_run_stands():
    seen = []
    how = {"episodes": 6000, "batch_size": 2, "policy_step_size": 0.05, "seed": range(2)}
    table = sweep("option", callbacks=[seen.append], **how)
    assert [one.iteration for one in seen] == sorted({one.iteration for one in seen})
    last = seen[-1]
    assert (last.iteration, last.iterations, last.episodes) == (3000, 3000, 12_000)
    assert last.seconds_left == 0
    assert last.mean.shape == last.std.shape == last.dual.shape == (2,)
    np.testing.assert_array_equal(last.dual, [row.dual for row in table.rows])
    np.testing.assert_array_equal(last.iterates().dual, last.dual)
    np.testing.assert_array_equal(last.iterates().policy.weights[1], table.rows[1].policy.weights)


def test_a_callback_can_end_the_run():
    calls = []

    def enough(snapshot):
        calls.append(snapshot.iteration)
        return snapshot.iteration >= 100

    result = train("option", episodes=10**9, policy_step_size=0.05, callbacks=[enough])
    assert result.status == "stopped"
    assert result.episodes == calls[-1] >= 100
    assert all(iteration < 100 for iteration in calls[:-1])
    whole = train("option", episodes=calls[-1], policy_step_size=0.05)
    for left, right in zip(leaves(whole), leaves(result), strict=True):
        np.testing.assert_array_equal(left, right)


def test_every_callback_is_asked_even_if_the_first_ends_the_run():
    asked = []
    train(
        "option",
        episodes=10**9,
        policy_step_size=0.05,
        callbacks=[lambda snapshot: True, asked.append],
    )
    assert len(asked) == 1


@pytest.mark.parametrize("records", [1, 7, 100])
def test_metrics_are_moments_of_the_returns_between_records(records):
    result = train("option", episodes=70, policy_step_size=0.05, records=records)
    count = min(records, 70)
    assert {name: len(column) for name, column in result.metrics.items()} == dict.fromkeys(
        ("iteration", "episodes", "mean", "std", "dual"), count
    )
    np.testing.assert_array_equal(result.metrics["iteration"], [70 * (i + 1) // count for i in range(count)])
    np.testing.assert_array_equal(result.metrics["dual"][-1], result.dual)
