"""Every setting does what it says in a run; one that cannot be is refused by name before anything runs."""

from dataclasses import fields

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from training.support import leaves, problems

from fenchel import InputError, Settings, StorageError, evaluate, make, make_policy, mvp, sweep, train
from fenchel.objectives import MeanVariance
from fenchel.policies import Tabular
from fenchel.training import resolve

pytestmark = pytest.mark.slow

NUMBERS = {"horizon": 4, "up_probability": 0.5, "put_strike": 1.3, "call_strike": 1.2}
"""An option that pays at once, so that every episode moves the policy."""
ENV, TABLE = make("option", **NUMBERS), make("option", observe="index", **NUMBERS)
STEPS = {"policy_step_size": 0.5, "dual_step_size": 0.2}


def learn(algorithm="mvp", env=ENV, **settings):
    return train(env, algorithm, **{"episodes": 40, "batch_size": 4, **STEPS, **settings})


def weights(result):
    return np.asarray(leaves(result)[0])


@pytest.fixture(scope="module")
def plain():
    return learn()


CHANGES = {
    "risk_aversion": {"risk_aversion": 0.2},
    "episodes": {"episodes": 80},
    "batch_size": {"batch_size": 2},
    "control_variate batch": {"control_variate": "batch"},
    "control_variate step": {"control_variate": "step"},
    "control_variate value": {"control_variate": "value"},
    "control_variate critic": {"control_variate": "critic"},
    "explore": {"explore": 0.5},
    "policy_step_size": {"policy_step_size": 0.1},
    "policy_step_size measured": {"policy_step_size": None},
    "policy_step_factor": {"policy_step_factor": 3.0},
    "policy_step_factor of what is measured": {"policy_step_size": None, "policy_step_factor": 3.0},
    "dual_step_size": {"dual_step_size": 0.1},
    "dual_step_size by default": {"dual_step_size": None},
    "schedule": {"schedule": "robbins-monro"},
    "schedule cosine": {"schedule": "cosine"},
    "offset": {"schedule": "robbins-monro", "offset": 30.0},
    "exponent": {"schedule": "robbins-monro", "exponent": 1.0},
    "optimizer": {"optimizer": "adam"},
    "optimizer, step by default": {"optimizer": "adam", "policy_step_size": None},
    "policy_prox l1": {"policy_prox": "l1"},
    "policy_prox group-l1": {"policy_prox": "group-l1"},
    "policy_prox squared-l2": {"policy_prox": "squared-l2", "prox_strength": 1.0},
    "policy_prox ball": {"policy_prox": "ball", "prox_strength": 0.005},
    "fresh_batch": {"fresh_batch": True},
    "output uniform": {"output": "uniform"},
    "output weighted": {"output": "weighted", "smoothness": 0.5},
    "output best": {"output": "best", "validation_every": 3, "validation_episodes": 50},
    "dual": {"dual": 3.0},
    "dual_min": {"dual_min": 5.0},
    "dual_max": {"dual_max": 0.45},
    "seed": {"seed": 1},
}


@pytest.mark.parametrize("name", CHANGES)
def test_every_setting_changes_the_result(name, plain):
    result = learn(**CHANGES[name])
    assert result.status == "done"
    assert result.episodes == CHANGES[name].get("episodes", 40)
    assert all(np.isfinite(leaf).all() for leaf in leaves(result))
    assert not np.array_equal(weights(result), weights(plain))


BCA = {
    "entropy": {"entropy": 0.5},
    "phase_in": {"phase_in": 0.9, "risk_aversion": 3.0},
    "explore": {"explore": 0.0},
    "control_variate": {"control_variate": "batch"},
    "dual_max": {"dual_max": 0.01},
}


@pytest.mark.parametrize("name", BCA)
def test_what_the_algorithm_brings_can_be_said_otherwise(name):
    start = {key: value for key, value in BCA[name].items() if key == "risk_aversion"}
    plain, other = (
        train(TABLE, "bca", episodes=60, batch_size=10, **change) for change in (start, BCA[name])
    )
    assert not np.array_equal(weights(plain), weights(other))


def test_no_setting_was_forgotten():
    tried = {field for change in CHANGES.values() for field in change}
    others = {"variance_bound", "order", "level", "entropy", "phase_in", "benchmark"}
    others |= {"multiplier_step_size", "estimator", "momentum"}
    assert {field.name for field in fields(Settings)} - tried == others


def test_the_policy_s_step_size_is_multiplied(plain):
    assert np.array_equal(weights(learn(policy_step_size=0.25, policy_step_factor=2.0)), weights(plain))


def test_the_dual_stays_in_its_box(plain):
    assert learn(dual_min=5.0).dual == 5.0
    assert learn(dual_max=0.45).dual == 0.45
    assert 0.45 < plain.dual < 5.0
    assert learn("rcpg", dual_min=0.4, dual_max=0.45).dual in (0.45, 0.4)


def test_penalties_and_constraints_hold(plain):
    length = np.linalg.norm(weights(plain))
    assert np.all(weights(learn(policy_prox="l1", prox_strength=100.0)) == 0)
    assert np.all(weights(learn(policy_prox="group-l1", prox_strength=100.0)) == 0)
    assert 0 < np.linalg.norm(weights(learn(policy_prox="squared-l2", prox_strength=1.0))) < 0.8 * length
    ball = np.linalg.norm(weights(learn(policy_prox="ball", prox_strength=0.005)))
    assert 0 < ball <= 0.005 * (1 + 1e-12) < length
    table = weights(learn(policy="direct", env=TABLE, policy_prox="simplex"))
    np.testing.assert_allclose(table.sum(axis=1), 1, rtol=1e-12)
    assert table.min() >= 0 and not np.array_equal(table, np.full_like(table, 0.5))


def test_orders_of_bsg(plain):
    """Its default is cyclic, which is MVP; simultaneous is SGA, random RCPG; shuffled is like no other."""
    found = {order: learn("bsg", order=order) for order in ("cyclic", "simultaneous", "random", "shuffled")}
    for order, other in (("cyclic", plain), ("simultaneous", learn("sga")), ("random", learn("rcpg"))):
        np.testing.assert_array_equal(weights(found[order]), weights(other))
    assert len({weights(result).tobytes() for result in found.values()}) == 4


def test_a_level_is_cvars():
    ends = [learn(objective="cvar", level=level) for level in (0.05, 0.5, 1.0)]
    assert len({weights(result).tobytes() for result in ends}) == 3


def test_a_variance_bound_is_tamars():
    ends = [learn("tamar"), learn("tamar", variance_bound=0.0), learn("tamar", variance_bound=0.01)]
    assert len({weights(result).tobytes() for result in ends}) == 3


def test_the_last_output_is_the_default_and_others_are_iterates_of_the_same_run(plain):
    np.testing.assert_array_equal(weights(learn(output="last")), weights(plain))
    path = [weights(learn(episodes=4 * t)) for t in range(1, 10)]
    for output in ("uniform", "weighted"):
        drawn = weights(learn(output=output))
        assert any(np.array_equal(drawn, one) for one in [np.zeros_like(drawn), *path])
    best = weights(learn(output="best", validation_every=3, validation_episodes=50))
    assert any(np.array_equal(best, path[t - 1]) for t in (3, 6, 9))


def test_settings_may_be_given_as_an_object_and_changed():
    settings = Settings(episodes=40, batch_size=4, seed=3, **STEPS)
    np.testing.assert_array_equal(weights(train(ENV, settings=settings, seed=1)), weights(learn(seed=1)))
    assert settings.seed == 3


BAD = [
    ({"risk_aversoin": 1.0}, "setting = 'risk_aversoin': did you mean 'risk_aversion'?"),
    ({"lambda": 1.0}, "setting = 'lambda': choose one of batch_size, "),
    ({"risk_aversion": 0.0}, "risk_aversion = 0.0: must be above 0"),
    ({"risk_aversion": -1}, "risk_aversion = -1: must be above 0"),
    ({"risk_aversion": float("nan")}, "risk_aversion = nan: must be finite"),
    ({"risk_aversion": "high"}, "risk_aversion = 'high': must be a number"),
    ({"policy_step_size": -0.1}, "policy_step_size = -0.1: must be 0 or more"),
    ({"policy_step_size": float("inf")}, "policy_step_size = inf: must be finite"),
    ({"dual_step_size": float("nan")}, "dual_step_size = nan: must be finite"),
    ({"dual_step_size": -1}, "dual_step_size = -1: must be 0 or more"),
    ({"batch_size": 0}, "batch_size = 0: must be a whole number of at least 1"),
    ({"batch_size": 2.5}, "batch_size = 2.5: must be a whole number"),
    ({"fresh_batch": "yes"}, "fresh_batch = 'yes': must be True or False"),
    ({"fresh_batch": 1}, "fresh_batch = 1: must be True or False"),
    ({"episodes": np.float64(40.0)}, "episodes = 40.0: must be a whole number"),
    ({"episodes": 2**33}, "episodes = 8589934592: make 2147483648 iterations, and 2147483647 are the most"),
    ({"risk_aversion": 1e-310}, "risk_aversion = 1e-310: is outside the range of float64"),
    ({"objective": "mean-variance", "algorithm": mvp(1e-310)}, "is outside the range of float64"),
    ({"batch_size": True}, "batch_size = True: must be a whole number"),
    ({"episodes": -5}, "episodes = -5: must be a whole number of at least 1"),
    ({"episodes": 3, "batch_size": 4}, "episodes = 3: are fewer than one iteration samples"),
    ({"episodes": 7, "batch_size": 4, "fresh_batch": True}, "episodes = 7: are fewer than one iteration"),
    ({"control_variate": "step", "batch_size": 1}, "needs a batch_size of at least 2"),
    ({"control_variate": "bacth"}, "did you mean 'batch'?"),
    ({"schedule": "robbins-monroe"}, "did you mean 'robbins-monro'?"),
    ({"schedule": "robbins-monro", "exponent": 0.5}, "exponent = 0.5: must be above 1/2 and at most 1"),
    ({"schedule": "robbins-monro", "exponent": 1.01}, "exponent = 1.01: must be above 1/2"),
    ({"schedule": "robbins-monro", "offset": 0.0}, "offset = 0.0: must be above 0"),
    ({"exponent": 0.6}, "exponent = 0.6: belongs to schedule 'robbins-monro'"),
    ({"offset": 10.0}, "offset = 10.0: belongs to schedule 'robbins-monro'"),
    ({"optimizer": "adma"}, "optimizer = 'adma': did you mean 'adam'?"),
    ({"policy_prox": "l2"}, "policy_prox = 'l2': did you mean 'l1'?"),
    ({"prox_strength": 0.5}, "prox_strength = 0.5: belongs to policy_prox"),
    ({"policy_prox": "l1", "prox_strength": -1.0}, "prox_strength = -1.0: must be above 0"),
    ({"policy_prox": "simplex"}, "policy_prox = 'simplex': is for policy 'direct'"),
    ({"dual_min": 2.0, "dual_max": 1.0}, "dual_min = 2.0: must not exceed dual_max = 1.0"),
    ({"dual": float("inf")}, "dual = inf: must be finite"),
    ({"order": "random"}, "order = 'random': is no setting of mvp; bsg has it"),
    ({"algorithm": "bsg", "order": "cycle"}, "order = 'cycle': did you mean 'cyclic'?"),
    ({"output": "first"}, "output = 'first': choose one of best, last, uniform, weighted"),
    ({"validation_every": 5}, "validation_every = 5: belongs to output 'best'"),
    ({"output": "best", "validation_episodes": 0}, "validation_episodes = 0: must be a whole number"),
    ({"smoothness": 2.0}, "smoothness = 2.0: belongs to output 'weighted'"),
    ({"output": "weighted", "smoothness": 20.0}, "smoothness = 20.0: leaves no iterate a positive weight"),
    ({"variance_bound": 0.1}, "variance_bound = 0.1: has no effect on the objective fenchel-mean-variance"),
    ({"objective": "variance-bound"}, "variance_bound = None: must be given"),
    (
        {"algorithm": "pg", "objective": "variance-bound", "variance_bound": 1.0, "dual": 0.0},
        "has a constraint",
    ),
    ({"multiplier_step_size": 0.5}, "multiplier_step_size = 0.5: has no effect"),
    ({"seed": -1}, "seed = -1: must be a whole number from 0"),
    ({"seed": 1.5}, "seed = 1.5: must be a whole number"),
    ({"algorithm": "mpv"}, "algorithm = 'mpv': did you mean 'mvp'?"),
    ({"algorithm": 3}, "algorithm = 3: must be a solver or the name of an algorithm"),
    ({"algorithm": "pg", "risk_aversion": 0.5}, "has no effect on the objective expectation"),
    ({"algorithm": "pg", "dual_min": 0.0, "dual_step_size": None}, "dual_min = 0.0: is no setting of pg"),
    ({"algorithm": "pg", "objective": "mean-variance"}, "objective = 'MeanVariance': has a dual, which pg"),
    ({"algorithm": "tamar", "optimizer": "adam"}, "optimizer = 'adam': is no setting of tamar"),
    ({"algorithm": "rcpg", "fresh_batch": True}, "fresh_batch = True: is no setting of rcpg"),
    ({"algorithm": "sbmd"}, "policy = 'LinearSoftmax': sbmd moves probabilities themselves"),
    ({"policy": "direct", "env": TABLE}, "policy = 'DirectTabular': does not stay a table of probabilities"),
    ({"policy": "tabluar"}, "policy = 'tabluar': did you mean 'tabular'?"),
    ({"policy": "tabular"}, "policy = 'tabular': .* is not a finite state"),
    ({"policy": Tabular(jnp.zeros((3, 1))), "env": TABLE}, "policy = 'Tabular': has 3 states"),
    ({"policy": Tabular(jnp.zeros((10, 2))), "env": TABLE}, "chooses among 3 actions"),
    ({"policy": make_policy("linear", make("portfolio"))}, "policy = 'LinearSoftmax': does not take obser"),
    ({"policy": 3}, "policy = 3: must be a policy or the name of one"),
    ({"env": "opiton"}, "name = 'opiton': did you mean 'option'?"),
    ({"env": None}, "env = None: must be an environment or the name of one"),
    ({"objective": "mean"}, "objective = 'mean': "),
    ({"objective": MeanVariance(2.0), "risk_aversion": 3.0}, "is a field of the objective object"),
    ({"algorithm": mvp()}, "objective = None: must be given together with a solver object"),
    ({"records": 0}, "records = 0: must be a whole number"),
    ({"checkpoint_seconds": 0.0}, "checkpoint_seconds = 0.0: must be above 0"),
]


@pytest.mark.parametrize(("what", "message"), BAD, ids=[message[:40] for _, message in BAD])
def test_what_cannot_be_is_refused_by_name_and_leaves_nothing(what, message, tmp_path, monkeypatch):
    def measure(*_):
        raise AssertionError("the pilot ran")

    monkeypatch.setattr(resolve, "pilot_step_size", measure)
    steps = {} if isinstance(what.get("algorithm"), type(mvp())) or what.get("algorithm") == "pg" else STEPS
    how = {"env": ENV, "episodes": 40, "batch_size": 4, **steps, **what}
    with pytest.raises(InputError, match=message.replace("(", r"\(").replace("?", r"\?")) as caught:
        train(**how, out=tmp_path / "run")
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_sweep_refuses_a_bad_row_before_any_is_run():
    with pytest.raises(InputError, match=r"risk_aversion = -1\.0: must be above 0"):
        sweep(ENV, risk_aversion=[1.0, -1.0], episodes=10**12)
    with pytest.raises(InputError, match=r"seed = \[\]: is empty"):
        sweep(ENV, seed=[])
    with pytest.raises(InputError, match="numbers, not in structure"):
        sweep(ENV, optimizer=["sgd", "adam"], episodes=10, **STEPS)


BAD_ROWS = [
    ({"seed": [0, -1]}, "seed = -1: must be a whole number from 0"),
    ({"dual_step_size": [0.1, -1]}, "dual_step_size = -1: must be 0 or more"),
    ({"control_variate": ["none", "step"], "batch_size": 1}, "needs a batch_size of at least 2"),
    ({"algorithm": "tamar", "variance_bound": [1.0, 1e-310]}, "variance_bound = 1e-310: is outside"),
    ({"batch_size": [1, 100]}, "episodes = 40: are fewer than one iteration"),
    ({"batch_size": [1, 2]}, "numbers, not in structure"),
    ({"output": "weighted", "policy_step_size": [0.01, 9.0]}, "smoothness = 1.0: leaves no iterate"),
]


@pytest.mark.parametrize(("what", "message"), BAD_ROWS, ids=[message for _, message in BAD_ROWS])
def test_a_sweep_refuses_a_bad_row_before_its_pilot(what, message, tmp_path, monkeypatch):
    monkeypatch.setattr(resolve, "pilot_step_size", lambda *_: pytest.fail("the pilot ran"))
    with pytest.raises(InputError, match=message):
        sweep(ENV, **{"episodes": 40, "risk_aversion": [0.1, 1.0], **what}, out=tmp_path / "run")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("run", [train, sweep])
def test_a_place_that_cannot_be_made_is_refused_before_the_pilot(run, tmp_path, monkeypatch):
    monkeypatch.setattr(resolve, "pilot_step_size", lambda *_: pytest.fail("the pilot ran"))
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="is a file; name a directory"):
        run(ENV, episodes=40, out=tmp_path / "file")
    with pytest.raises(StorageError, match="could not be"):
        run(ENV, episodes=40, out=tmp_path / "file" / "run")


def test_a_pilot_that_is_interrupted_leaves_nothing(tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(resolve, "pilot_step_size", interrupt)
    with pytest.raises(KeyboardInterrupt):
        train(ENV, episodes=40, out=tmp_path / "deep" / "run")
    assert not list(tmp_path.iterdir())


FINE = {
    "risk_aversion": {},
    "policy_step_size": {},
    "dual_step_size": {},
    "prox_strength": {"policy_prox": "l1"},
}
OUTSIDE = [(field, value, more) for field, more in FINE.items() for value in (1e39, 1e-45)]


@pytest.mark.parametrize(("field", "value", "more"), [*OUTSIDE, ("level", 1e-45, {"objective": "cvar"})])
def test_what_single_precision_does_not_hold_is_refused(field, value, more):
    with jax.enable_x64(False), pytest.raises(InputError, match="outside the range of float32") as caught:
        learn(**more, **{field: value})
    assert (caught.value.field, caught.value.value) == (field, value)


def test_an_evaluation_refuses_an_objective_that_single_precision_does_not_hold():
    with jax.enable_x64(False), pytest.raises(InputError, match=r"risk_aversion = 1e\+39: is outside"):
        evaluate(ENV, make_policy("linear", ENV), MeanVariance(1e39), episodes=10)


def test_numbers_of_numpy_are_numbers(plain):
    how = {"episodes": np.int64(40), "batch_size": np.int32(4), "seed": np.uint8(0), "fresh_batch": np.False_}
    found = learn(**how, risk_aversion=np.float32(1.0), dual=jnp.asarray(0.5))
    np.testing.assert_array_equal(weights(found), weights(learn(dual=0.5)))
    kinds = {type(value) for value in vars(Settings(**how, output=np.str_("last"))).values()}
    assert kinds == {int, float, bool, str, type(None)}
    assert (
        evaluate("option", make_policy("linear", ENV), episodes=np.int64(10), seed=np.int64(1)).episodes == 10
    )


def test_an_environment_may_be_named_for_its_evaluation_too():
    policy = make_policy("linear", make("option"))
    assert evaluate("option", policy, episodes=100) == evaluate(make("option"), policy, episodes=100)
    table, seen = make_policy("tabular", make("option", observe="index")), make("option", observe="index")
    assert evaluate("option", table, episodes=100) == evaluate(seen, table, episodes=100)
    with pytest.raises(InputError, match="did you mean 'option'"):
        evaluate("optoin", policy)


@pytest.mark.parametrize(
    ("algorithm", "fresh", "offset"),
    [("mvp", False, 40), ("mvp", True, 20), ("sga", True, 20), ("pg", False, 40)],
)
def test_the_decay_sets_in_after_a_tenth_of_all_iterations(algorithm, fresh, offset):
    steps = {} if algorithm == "pg" else {"dual_step_size": 0.1}
    how = {"schedule": "robbins-monro", "episodes": 800, "batch_size": 2, "fresh_batch": fresh, **steps}
    [problem] = problems(ENV, algorithm, **how)
    assert problem.iterations == 10 * offset
    assert {block.step_size.offset for block in problem.solver.blocks} == {offset}


def test_a_solver_object_brings_its_own_settings():
    how = {"objective": "mean-variance", "episodes": 40, "batch_size": 4}
    named = learn(**how)
    np.testing.assert_array_equal(weights(train(ENV, mvp(0.5, 0.2), **how)), weights(named))
    with pytest.raises(InputError, match=r"policy_step_size = 0\.1: is a field of the solver object"):
        train(ENV, mvp(), **how, policy_step_size=0.1)
