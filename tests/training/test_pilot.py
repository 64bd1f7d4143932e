"""The measured step size: a typical length that rare huge directions and idle episodes do not move."""

import json
import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from training.support import problems

from fenchel import make, sweep, train
from fenchel.training import resolve
from fenchel.training.keys import pilot_key, streams
from fenchel.training.pilot import STEP, PilotSteps, lengths, pilot_step_size, typical

pytestmark = pytest.mark.slow


def test_the_typical_length_is_the_median_of_what_moves():
    assert typical(np.array([3.0, 0.0, 0.0, 1.0, 2.0, 0.0])) == 2.0
    assert typical(np.array([1.0, np.inf, np.nan])) == 1.0
    assert typical(np.zeros(4)) == 0.0
    few_huge = np.concatenate([np.full(1000, 2.0), [1e6]])
    assert typical(few_huge) == 2.0
    for rounding in (0.0, 1e-17):
        assert typical(np.concatenate([np.full(4000, rounding), np.full(20, 0.5)])) == 0.5


@pytest.mark.parametrize(
    ("env", "idle", "spread"), [("option", 0.88, 1), ("stopping", 0, 100), ("portfolio", 0, 1)]
)
@pytest.mark.parametrize("risk_aversion", [0.1, 1.0])
def test_half_of_the_first_steps_that_move_are_longer(env, idle, spread, risk_aversion):
    """With λ = 1 an idle step of the option leaves a rounding of 10⁻¹⁷, which is no typical length."""
    [problem] = problems(env=env, risk_aversion=risk_aversion)
    objective = jax.tree.map(jnp.asarray, problem.objective)  # one program for both, and for the step size
    what = pilot_key(), problem.policy, objective, problem.estimator
    found = np.asarray(lengths(*what))
    moving = found[found > 1e-6]
    assert len(found) == 4096
    assert np.mean(found <= 1e-6) == pytest.approx(idle, abs=0.01)
    assert pilot_step_size(*what) * np.median(moving) == pytest.approx(STEP, rel=0.05)
    assert np.sqrt(np.mean(found**2)) > spread * np.median(moving)


def test_a_policy_that_nothing_moves_gets_the_plain_step():
    [problem] = problems(env=make("option", put_strike=0.0, call_strike=100.0))
    step = pilot_step_size(pilot_key(), problem.policy, problem.objective, problem.estimator)
    assert step == STEP


def test_each_step_size_is_measured_once_and_never_when_resuming():
    fresh = PilotSteps()
    assert fresh.get("a", lambda: 0.5) == fresh.get("a", lambda: 0.7) == 0.5
    resumed = PilotSteps(fresh.known)
    assert resumed.get("a", pytest.fail) == resumed.get("b", pytest.fail) == 0.5


def test_the_pilot_s_noise_is_nobody_else_s(monkeypatch):
    used = []
    monkeypatch.setattr(resolve, "pilot_step_size", lambda key, *_: used.append(key) or 0.1)
    problems(policy_step_size=None)
    own = jax.random.key_data(used[0]).tolist()
    split = jax.random.split(jax.random.key(0), 1000)
    others = [key for seed in range(20) for key in streams(seed)] + list(split)
    assert own == jax.random.key_data(pilot_key()).tolist()
    assert own not in [jax.random.key_data(key).tolist() for key in others]


def test_the_step_does_not_depend_on_the_seed_and_is_part_of_the_configuration():
    rows = sweep("option", risk_aversion=[0.1, 1.0], seed=[0, 1], episodes=10)
    assert rows.rows[0].provenance["config"]["pilot"] == {
        "risk_aversion 0.1, batch_size 1": pytest.approx(0.023),
        "risk_aversion 1.0, batch_size 1": pytest.approx(0.24),
    }


def test_the_step_does_not_depend_on_the_first_weights_of_a_network_either():
    table = sweep("option", policy="mlp", seed=[0, 3], episodes=10)
    alone = train("option", policy="mlp", seed=3, episodes=10)
    assert alone.provenance["config"]["pilot"] == table.rows[1].provenance["config"]["pilot"]


def exact_moments(env, policy):
    """Mean and standard deviation of optimal stopping, backwards through the tree."""
    costs = [env.start * env.up ** np.arange(t + 1) * env.down ** np.arange(t, -1, -1) for t in _steps(env)]
    seen = jnp.asarray([(cost, t) for t, row in zip(_steps(env), costs, strict=True) for cost in row])
    chances = np.asarray(jax.vmap(policy.probabilities)(seen))[:, 1]
    mean, square = 0.0, 0.0
    for t, cost in zip(_steps(env), costs, strict=True):
        accept, chances = chances[: t + 1], chances[t + 1 :]
        if t == env.horizon:
            mean, square = -cost, cost**2
            continue
        rise, fall = env.up_probability, 1 - env.up_probability
        mean, square = rise * mean[1:] + fall * mean[:-1], rise * square[1:] + fall * square[:-1]
        square = env.waiting_cost**2 - 2 * env.waiting_cost * mean + square
        mean = mean - env.waiting_cost
        mean, square = accept * -cost + (1 - accept) * mean, accept * cost**2 + (1 - accept) * square
    return mean[0], np.sqrt(square[0] - mean[0] ** 2)


def _steps(env):
    return range(env.horizon, -1, -1)


def test_mvp_with_default_settings_learns_to_accept_at_once():
    """Returns of the first policy go down to −1.3 million; a step size for those would hardly move."""
    table = sweep("stopping", seed=range(2), episodes=400_000)
    for result in table.rows:
        mean, std = exact_moments(result.env, result.policy)
        found = result.evaluate(10_000)
        assert found.mean == pytest.approx(mean, abs=4 * std / 100 + 1e-3)
        assert mean == pytest.approx(-1.25, rel=0.001)
        assert std < 0.02
        assert result.dual == pytest.approx(-1.25 + 1 / 2, abs=0.01)


SINGLE = """
import json
import numpy as np
from fenchel import sweep, train

how = {"episodes": 2000, "batch_size": 4, "optimizer": "adam", "output": "uniform"}
table = sweep("option", **how, seed=[3, 4, 5])
rows = [np.asarray(row.policy.weights, float) for row in [*table.rows, train("option", **how, seed=4)]]
apart = [float(np.abs(row - rows[3]).max() / np.abs(rows[3]).max()) for row in rows]
print(json.dumps({"kind": table.rows[1].policy.weights.dtype.name, "apart": apart}))
"""


def test_in_single_precision_a_row_of_a_sweep_is_the_single_run_up_to_rounding():
    environment = {name: value for name, value in os.environ.items() if name != "JAX_ENABLE_X64"}
    done = subprocess.run(
        [sys.executable, "-c", SINGLE], env=environment, check=True, capture_output=True, text=True
    )
    found = json.loads(done.stdout)
    assert found["kind"] == "float32"
    assert found["apart"][1] < 1e-5
    assert found["apart"][0] > 1e-2 and found["apart"][2] > 1e-2


def test_threads_work_in_the_precision_of_their_caller():
    """JAX keeps the precision of a `with` block per thread, and a sweep of three runs on two threads."""
    how = {"episodes": 200, "policy_step_size": 0.1}
    with jax.enable_x64(False):
        table = sweep("option", seed=range(3), **how)
        alone = train("option", seed=2, **how)
        np.testing.assert_allclose(table.rows[2].policy.weights, alone.policy.weights, atol=1e-6)
        assert table.rows[2].policy.weights.dtype == jnp.float32
        assert table.rows[2].returns(3000).dtype == np.float32
