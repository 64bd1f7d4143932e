"""Training on Gymnasium's environments: the right answers where they are known, and runs that go on."""

import functools

import gymnasium
import numpy as np
import pytest
from envs.gyms import Arms, Corridor, Faulty, Target
from training.support import assert_same

from fenchel import InputError, evaluate, load, make, sweep, train
from fenchel.estimators.host import Batch
from fenchel.training import RunDirectory
from fenchel.training.host import Running

pytestmark = pytest.mark.slow

SHORT = {"episodes": 24, "batch_size": 8, "records": 2}


@pytest.fixture(scope="module")
def arms():
    """Four learners of two arms, one after the other in one program, with nothing tuned."""
    return sweep(Arms, risk_aversion=[0.05, 1.0], seed=range(2))


def test_the_right_arm_for_each_risk_aversion(arms):
    """J − λ Var of the arms is 1 and 1.3 − λ, of a mixture less than of the better one."""
    for setting, row in zip(arms.settings, arms.rows, strict=True):
        second = float(row.policy.probabilities(np.array(0))[1])
        best = max(1.0, 1.3 - setting["risk_aversion"])
        found = row.evaluate(1000)
        assert second > 0.9 if setting["risk_aversion"] < 0.3 else second < 0.1
        assert found.value == pytest.approx(best, abs=0.1 + 4 * found.standard_error)
        assert row.dual == pytest.approx(found.mean, abs=0.6)


def test_how_episodes_ended_is_recorded(arms):
    np.testing.assert_array_equal(arms.metrics["length"], 1)
    np.testing.assert_array_equal(arms.metrics["truncated"], 0)
    assert arms.metrics["episodes"][-1] == 9984


def test_a_noisy_region_is_used_at_low_and_avoided_at_high_risk_aversion():
    """On the right a step is worth 1.3 ± 1, on the left 1; it takes a step to get there."""
    table = sweep(Corridor, risk_aversion=[0.01, 1.0], episodes=3200, batch_size=32)
    bold, careful = table.rows
    found = bold.evaluate(300)
    assert found.mean == pytest.approx(8 * 1.3, abs=0.3 + 4 * found.standard_error)
    assert found.std == pytest.approx(8**0.5, rel=0.2)
    found = careful.evaluate(300)
    assert found.mean == pytest.approx(8, abs=0.3)
    assert found.std < 1.0
    assert careful.metrics["truncated"][-1] == 1


def test_real_actions_find_their_target():
    result = train(Target, objective="expectation", episodes=1600, batch_size=32, policy_step_size=0.05)
    np.testing.assert_allclose(result.policy.mode(np.zeros(1)), [0.5, -0.5], atol=0.1)


@pytest.fixture(scope="module")
def poles():
    return train("CartPole-v1", objective="expectation", episodes=384, batch_size=32)


def test_cartpole_makes_progress(poles):
    """A uniform policy keeps the pole up for 22 steps."""
    found = poles.evaluate(50)
    assert found.mean - 4 * found.standard_error > 30
    assert poles.env.norms.scale
    assert poles.policy.mode(poles.env.shown(np.zeros(4, np.float32))) in (0, 1)


def stop_at(iteration):
    return lambda snapshot: snapshot.iteration >= iteration


def test_a_run_that_was_stopped_goes_on_to_the_bit(tmp_path):
    env = make("gym:CartPole-v1", normalise_rewards=True, horizon=30)
    whole = train(env, **SHORT)
    first = train(env, out=tmp_path / "run", callbacks=[stop_at(1)], **SHORT)
    assert (first.status, first.metrics["iteration"].size) == ("stopped", 1)
    again = train(env, out=tmp_path / "run", resume=True, **SHORT)
    assert_same(whole, again)
    assert again.env.norms == whole.env.norms
    loaded = load(tmp_path / "run")
    assert_same(whole, loaded)
    assert loaded.evaluate(20) == whole.evaluate(20)
    assert evaluate(whole.env, whole.policy, whole.objective, episodes=20) == whole.evaluate(20)
    assert len(RunDirectory(tmp_path / "run").read_metrics()) == 2


def test_a_factory_is_kept_but_not_rebuilt_from_a_file(tmp_path):
    source = functools.partial(gymnasium.make, "CartPole-v1", max_episode_steps=30)
    train(source, out=tmp_path / "run", **SHORT)
    assert train(source, out=tmp_path / "run", resume=True, **SHORT).status == "done"
    with pytest.raises(
        InputError, match=r"'functools\.partial': cannot be rebuilt from a file; pass the object"
    ):
        load(tmp_path / "run")


def test_a_file_may_not_import_a_module(tmp_path):
    train(make("gym:CartPole-v1", horizon=30), out=tmp_path / "run", **SHORT)
    config = tmp_path / "run" / "config.json"
    config.write_text(config.read_text().replace('"CartPole-v1"', '"antigravity:CartPole-v1"'))
    with pytest.raises(InputError, match="is registered by antigravity, which a file may not import"):
        load(tmp_path / "run")


def test_scales_are_those_of_all_that_was_seen():
    rng, running = np.random.default_rng(0), Running()
    parts = [rng.normal(size=(size, 3)) * [1, 100, 0] + [5, 0, 2] for size in (4, 30, 11)]
    for part in parts:
        running.add(Batch(None, part, np.array([True, False])))
    norms, every = running.norms(make("gym:CartPole-v1")), np.concatenate(parts)
    np.testing.assert_allclose(norms.shift, every.mean(axis=0))
    np.testing.assert_allclose(norms.scale, [*every.std(axis=0)[:2], 1.0])
    again = Running.of(running.arrays())
    assert again.norms(make("gym:CartPole-v1")) == norms
    assert (again.episodes, again.steps, again.truncated) == (6, 45, 3)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"explore": 0.2}, "explore = 0.2: needs an environment of fenchel's own"),
        ({"output": "best"}, "output = 'best': needs an environment of fenchel's own"),
        ({"output": "uniform"}, "output = 'uniform': an earlier iterate saw observations at another scale"),
        ({"algorithm": "mvp"}, "policy_step_size = None: measuring it needs an environment of fenchel's own"),
        ({"algorithm": "mvp", "fresh_batch": True, "policy_step_size": 0.1}, "fresh_batch = True: needs an"),
        ({"policy": "tabular"}, "is not a finite state"),
        ({"episodes": 5}, "episodes = 5: are fewer than one iteration samples"),
    ],
)
def test_what_the_host_cannot_do_is_refused(how, message):
    with pytest.raises(InputError) as caught:
        train("gym:CartPole-v1", **how)
    assert message in str(caught.value)


def test_a_fault_of_the_environment_ends_the_run():
    with pytest.raises(InputError, match="reward = nan: in step 3 of an episode of Faulty"):
        train(functools.partial(Faulty, reward=np.nan), **SHORT)


def test_single_episodes_of_the_paper_work_as_well():
    result = train(Arms, "mvp", risk_aversion=0.5, policy_step_size=0.05, episodes=300)
    assert (result.status, result.metrics["episodes"][-1]) == ("done", 300)
    assert float(result.policy.probabilities(np.array(0))[1]) < 0.5
