"""The same learner is the same however it is run: alone or in a sweep, in one chunk or in many, again."""

from importlib import import_module

import jax
import numpy as np
import pytest
from training.support import assert_close, assert_same, assert_same_arrays, leaves, problems

from fenchel import InputError, make, sweep, train
from fenchel.policies import AbstractCategorical, Tabular
from fenchel.training.parts import Parts

pytestmark = pytest.mark.slow

VARIANTS = {
    "mvp, single episodes": {"algorithm": "mvp", "episodes": 300},
    "mvp, fresh batches, adam": {
        "algorithm": "mvp",
        "episodes": 4800,
        "batch_size": 8,
        "fresh_batch": True,
        "optimizer": "adam",
        "policy_step_size": 0.05,
        "control_variate": "step",
    },
    "rcpg, mlp, uniform": {
        "algorithm": "rcpg",
        "episodes": 1200,
        "batch_size": 4,
        "policy": "mlp",
        "output": "uniform",
        "policy_step_size": 0.1,
    },
    "shuffled, tabular, weighted": {
        "algorithm": "bsg",
        "order": "shuffled",
        "episodes": 1200,
        "batch_size": 4,
        "policy": "tabular",
        "output": "weighted",
        "schedule": "robbins-monro",
        "policy_step_size": 0.5,
        "dual_step_size": 0.5,
    },
    "sbmd": {"algorithm": "sbmd", "episodes": 300, "policy": "direct", "policy_step_size": 0.01},
    "tamar, best": {
        "algorithm": "tamar",
        "episodes": 600,
        "batch_size": 2,
        "output": "best",
        "validation_every": 100,
        "validation_episodes": 20,
    },
    "portfolio, adam": {
        "env": make("portfolio", horizon=8),
        "episodes": 4800,
        "batch_size": 8,
        "control_variate": "batch",
        "optimizer": "adam",
    },
    "portfolio, mlp, adam": {
        "env": make("portfolio", horizon=8),
        "episodes": 1200,
        "batch_size": 4,
        "policy": "mlp",
        "optimizer": "adam",
    },
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_row_of_a_sweep_is_the_single_run(variant):
    """Up to rounding: XLA compiles another program for more learners, and may add in another order."""
    how = dict(VARIANTS[variant])
    indexed = how.get("policy") in ("tabular", "direct")
    how.setdefault("env", make("option", horizon=6, observe="index" if indexed else "state"))
    table = sweep(**how, risk_aversion=[0.3, 2.0], seed=range(3))
    for setting, row in zip(table.settings, table.rows, strict=True):
        if setting["seed"] == 1:
            assert_close(row, train(**how, **setting))


def test_rows_of_a_sweep_differ_and_a_run_repeats_itself():
    table = sweep("stopping", seed=range(3), episodes=200, policy_step_size=0.01)
    ends = {b"".join(leaf.tobytes() for leaf in leaves(row)) for row in table.rows}
    assert len(ends) == 3
    for _ in range(2):
        again = train("stopping", seed=2, episodes=200, policy_step_size=0.01)
        assert_same(again, table.rows[2])


def test_learners_of_several_parts_are_the_single_runs(monkeypatch):
    monkeypatch.setattr("fenchel.training.parts.WIDTH", 4)
    table = sweep("stopping", seed=range(10), episodes=200, policy_step_size=0.01)
    for seed in (0, 3, 4, 9):
        assert_close(table.rows[seed], train("stopping", seed=seed, episodes=200, policy_step_size=0.01))


def test_another_number_of_cores_changes_nothing(monkeypatch):
    """A sweep that moves to another machine halfway ends as it would have on the first."""
    how = {"env": make("portfolio", horizon=8), "policy": "mlp", "batch_size": 4, "episodes": 800}
    learners = problems(rows=[{"seed": seed} for seed in range(6)], **how)
    ends, halves = [], []
    for cores in (1, 2, 64):
        monkeypatch.setattr("os.cpu_count", lambda cores=cores: cores)
        parts = Parts(learners)
        assert (parts.threads, parts.rows.shape) == (cores, (3, 2))
        if halves:
            parts.restore(halves[0])
        else:
            parts.advance(0, 100)
            halves.append(parts.arrays())
        parts.advance(100, 200)
        ends.append(parts.arrays())
    assert_same_arrays(ends[0], ends[1])
    assert_same_arrays(ends[0], ends[2])


@pytest.mark.parametrize("variant", ["mvp, fresh batches, adam", "tamar, best"])
def test_chunks_never_change_a_result(variant):
    how = dict(VARIANTS[variant])
    learners = problems(env=make("option", horizon=6), rows=({"seed": 3}, {"seed": 4}), **how)
    whole, pieces = Parts(learners), Parts(learners)
    whole.advance(0, 300)
    for start, stop in ((0, 0), (0, 1), (1, 64), (64, 65), (65, 300)):
        pieces.advance(start, stop)
    assert_same_arrays(whole.arrays(), pieces.arrays())


def test_checkpoints_callbacks_and_records_change_nothing_either(tmp_path):
    how = {"env": "option", "episodes": 3000, "policy_step_size": 0.05, "seed": 5}
    plain = train(**how)
    watched = train(**how, out=tmp_path / "run", checkpoint_seconds=1e-6, callbacks=[lambda snapshot: None])
    assert_same(plain, watched)
    sparse = train(**how, records=3)
    assert len(sparse.metrics["mean"]) == 3
    for left, right in zip(leaves(plain), leaves(sparse), strict=True):
        np.testing.assert_array_equal(left, right)


class Counted(AbstractCategorical):
    """A table whose log_prob counts how often it is traced."""

    table: jax.Array
    traces = [0]  # noqa: RUF012

    def logits(self, observation):
        return self.table[observation]

    def log_prob(self, observation, action):
        self.traces[0] += 1
        return super().log_prob(observation, action)


def test_a_second_run_compiles_nothing(monkeypatch):
    """Neither for another seed or length, nor for other numbers; nor does its evaluation."""
    for room in ("resolve", "evaluate"):  # the check of shapes traces, and compiles nothing
        module = import_module(f"fenchel.training.{room}")
        monkeypatch.setattr(module, "check_policy", lambda policy, env: None)
    env = make("option", horizon=6, observe="index")
    policy = Counted(jax.numpy.zeros((env.state_count, 1)))
    how = {"env": env, "policy": policy, "objective": "mean-variance"}
    train(**how, episodes=100, risk_aversion=0.5, seed=1).evaluate(1000)
    once = Counted.traces[0]
    assert once > 0
    train(**how, episodes=200, risk_aversion=2.0, seed=2)
    train(**how, episodes=200, policy_step_size=0.3, dual_step_size=0.1).evaluate(1000, seed=1)
    assert Counted.traces[0] == once


def test_rows_that_differ_in_structure_are_refused():
    with pytest.raises(InputError, match="numbers, not in structure"):
        Parts(problems(rows=({"batch_size": 2}, {"batch_size": 3})))


def test_state_does_not_grow_with_the_number_of_episodes():
    def sizes(episodes):
        parts = Parts(problems(env="option", policy="tabular", output="uniform", episodes=episodes))
        return {name: (array.shape, array.dtype) for name, array in parts.arrays().items()}

    few = sizes(100)
    assert few == sizes(10**9)
    rows = make("option").state_count
    assert few["state.policy.table"][0] == (1, rows, 1)
    assert sum(np.prod(shape) for shape, _ in few.values()) < 2 * rows + 20


def test_a_policy_given_as_an_object_is_where_learning_starts():
    env = make("option", horizon=4, observe="index")
    start = Tabular(jax.numpy.arange(10.0)[:, None])
    result = train(env, "pg", policy=start, episodes=10, policy_step_size=0.0)
    np.testing.assert_array_equal(result.policy.table, start.table)
