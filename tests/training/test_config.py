"""Descriptions tell objects apart, the same in every process, and lead back to equal structures."""

import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fenchel import ascent, envs, estimators, objectives, policies
from fenchel.errors import InputError
from fenchel.training.config import build, describe, differences, fingerprint
from fenchel.training.names import ACTIVATIONS, ROOMS, classes
from fenchel.training.resolve import ADAM


def stored(obj: Any) -> Any:
    """The description as it comes back from a file."""
    return json.loads(json.dumps(describe(obj)))


def equal_structure(a: Any, b: Any) -> bool:
    def outline(tree):
        return [(x.shape, x.dtype) if eqx.is_array(x) and x.ndim else x for x in jax.tree.leaves(tree)]

    return jax.tree.structure(a) == jax.tree.structure(b) and outline(a) == outline(b)


def all_envs() -> list[Any]:
    presets = [(name, preset) for name, cls in envs.ENVIRONMENTS.items() for preset in cls.PRESETS]
    plain = [envs.make(name, preset) for name, preset in presets]
    numbered = [name for name in envs.ENVIRONMENTS if envs.make(name).state_count is not None]
    shown = [envs.make(name, observe="return") for name in envs.ENVIRONMENTS]
    return plain + shown + [envs.make(name, observe="index") for name in numbered]


def all_policies() -> list[Any]:
    key, box = jax.random.key(0), envs.make("option")
    table = envs.make("option", observe="index")
    spaces = {
        "observation_space": gymnasium.spaces.Box(0, 1, (2,)),
        "action_space": gymnasium.spaces.Box(0, 1, (3,)),
    }
    continuous = type("Continuous", (), spaces)()
    return [
        *(policies.make_policy(name, table) for name in ("tabular", "direct")),
        policies.make_policy("linear", box, epsilon=0.01),
        policies.make_policy("linear", box, features="tamar2014"),
        policies.make_policy("mlp", box, key=key, hidden=(4, 3)),
        policies.make_policy("linear", continuous),
        policies.make_policy("mlp", continuous, key=key, hidden=(4,)),
    ]


def all_solvers() -> list[Any]:
    decaying = ascent.RobbinsMonro(0.1)
    return [
        *(make() for make in (ascent.mvp, ascent.sga, ascent.rcpg, ascent.pg, ascent.tamar)),
        ascent.mvp(decaying, decaying, policy_prox=ascent.L1(0.1)),
        ascent.mvp(policy_optimizer=ADAM),
    ]


OWN = [
    *(cls() for name, cls in objectives.OBJECTIVES.items() if name != "variance-bound"),
    objectives.VarianceBound(0.5),
    *all_envs(),
    *all_policies(),
    *all_solvers(),
    estimators.ScoreFunction(envs.make("stopping"), 4, "batch"),
]


@pytest.mark.parametrize("obj", OWN, ids=lambda obj: type(obj).__name__)
def test_fenchels_own_objects_are_rebuilt(obj):
    description = stored(obj)
    built = build(description)
    assert type(built) is type(obj)
    assert equal_structure(built, obj)
    filled = eqx.combine(eqx.filter(obj, eqx.is_array), eqx.filter(built, eqx.is_array, inverse=True))
    assert stored(filled) == description


@pytest.mark.parametrize("name", ROOMS)
def test_every_room_has_classes_that_can_be_named(name):
    assert any(known.startswith(f"{name}.") for known in classes())


@pytest.mark.parametrize("activation", [jax.nn.relu, jnp.tanh, jax.nn.softplus])
def test_networks_of_equinox_are_rebuilt(activation):
    network = eqx.nn.MLP(3, "scalar", 5, 2, activation=activation, key=jax.random.key(1))
    built = build(stored(network))
    assert equal_structure(built, network)
    assert built.activation is activation and built.final_activation is network.final_activation
    layers = eqx.nn.Sequential([eqx.nn.Linear(2, 2, key=jax.random.key(0)), eqx.nn.Lambda(jnp.sin)])
    assert equal_structure(build(stored(layers)), layers)


@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
def test_activations_are_known_by_name(name):
    assert build(stored(ACTIVATIONS[name])) is ACTIVATIONS[name]


trees = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda x: (
        st.lists(x)
        | st.lists(x).map(tuple)
        | st.dictionaries(st.text() | st.sampled_from(["type", "array", "list"]), x)
        | st.dictionaries(st.integers(), x)
    ),
    max_leaves=12,
)


@given(trees)
def test_containers_come_back_as_they_were(tree):
    built = build(stored(tree))
    assert built == tree and repr(type(built)) == repr(type(tree))


@given(trees, trees)
def test_differences_are_empty_exactly_when_fingerprints_agree(a, b):
    a, b = describe(a), describe(b)
    assert (differences(a, b) == []) == (fingerprint(a) == fingerprint(b))
    assert differences(a, a) == [] and len(differences(a, b)) == len(differences(b, a))
    assert all(line.isprintable() for line in differences(a, b))


def test_differences_name_paths_and_values():
    old = {"objective": {"risk_aversion": 1.0, "name": "a"}, "hidden": [8, 8], "seed": 1, "gone": None}
    new = {"objective": {"risk_aversion": 2.0, "name": "a"}, "hidden": [8], "seed": 1.0, "text": "x" * 99}
    assert differences(old, new) == [
        "gone: null → (absent)",
        "hidden.1: 8 → (absent)",
        "objective.risk_aversion: 1.0 → 2.0",
        "seed: 1 → 1.0",
        f'text: (absent) → "{"x" * 58}…',
    ]
    assert differences(float("nan"), float("nan")) == []
    assert differences(1, 2) == ["config: 1 → 2"]


def test_arrays_are_told_apart_by_content_shape_and_type():
    arrays = [
        jnp.zeros(4),
        jnp.ones(4),
        jnp.zeros((2, 2)),
        jnp.zeros(4, jnp.float32),
        jnp.zeros(4, jnp.bfloat16),
    ]
    assert len({fingerprint(describe(x)) for x in arrays}) == len(arrays)
    assert describe(np.zeros(4)) == describe(jnp.zeros(4))
    assert (
        describe(jnp.float32(0.5)) == 0.5 and describe(np.int8(3)) == 3 and describe(np.bool_(True)) is True
    )
    assert describe(jnp.bfloat16(0.5)) == 0.5
    assert describe(np.array([{}, 1], object))["values"] == {"list": [{}, 1]}
    assert describe(jax.random.key(1)) != describe(jax.random.key(2))


def optimizers() -> list[Any]:
    cosine = functools.partial(optax.cosine_decay_schedule, 0.1)
    return [
        *(optax.adam(rate) for rate in (1e-3, 1e-2, cosine(10), cosine(20))),
        optax.adam(1e-3, b1=0.8),
        optax.sgd(1e-3),
        optax.sgd(1e-3, momentum=0.9),
        optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-3)),
        optax.chain(optax.adam(1e-3), optax.clip_by_global_norm(1.0)),
        optax.inject_hyperparams(optax.adam)(1e-3),
        optax.inject_hyperparams(optax.adam)(1e-2),
    ]


def test_optimisers_are_told_apart_by_their_numbers():
    marks = [fingerprint(describe(optimizer)) for optimizer in optimizers()]
    assert len(set(marks)) == len(marks)
    assert marks == [fingerprint(describe(optimizer)) for optimizer in optimizers()]
    [line] = differences(describe(optax.adam(1e-3)), describe(optax.adam(1e-2)))
    assert line.endswith("step_size: -0.001 → -0.01")


def scaled(factor: float) -> Callable[[Any], Any]:
    def apply(x, shift=0.0, *, power=1):
        return factor * x**power + shift

    return apply


def wrapped(factor: float) -> Callable[[Any], Any]:
    inner = scaled(3.0)

    @functools.wraps(inner)
    def outer(x):
        return factor * inner(x)

    return outer


class Features(eqx.Module):
    """A user's own module, with everything that a field may hold."""

    function: Callable[[Any], Any] = eqx.field(static=True)
    centres: jax.Array
    type: str = eqx.field(static=True, default="rbf")
    extra: Any = eqx.field(static=True, default=None)


class Pair(NamedTuple):
    left: Any
    right: Any


class Colour(Enum):
    RED = 1
    BLUE = 2


class Opaque:
    def __init__(self, width: float):
        self.width, self._cache = width, object()

    def method(self, x):
        return self.width * x


def things() -> list[Any]:
    return [
        *(scaled(factor) for factor in (1.0, 2.0)),
        *(wrapped(factor) for factor in (1.0, 2.0)),
        *(jax.jit(scaled(factor)) for factor in (4.0, 5.0)),
        *(jax.vmap(scaled(1.0), axis) for axis in (0, 1)),
        *(functools.partial(scaled, factor) for factor in (1.0, 2.0)),
        *(Opaque(width) for width in (1.0, 2.0)),
        *(Opaque(width).method for width in (1.0, 2.0)),
        *[lambda x: x + 1, lambda x: x + 2, lambda x: x * 1, lambda x, k=3: x, lambda x, *, k=3: x],
        *[lambda x: [y + 1 for y in x], lambda x: [y + 2 for y in x], lambda x: x in {"a", "b", "c", "d"}],
        *[Features(jnp.tanh, jnp.ones(2)), Features(jnp.sin, jnp.ones(2)), Features(jnp.tanh, jnp.zeros(2))],
        *[Features(jnp.tanh, jnp.ones(2), "tiles"), Features(jnp.tanh, jnp.ones(2), extra=Opaque)],
        *[Pair(1, 2), Pair(2, 1), (1, 2), [1, 2], {1, 2}, {"a", "b", "c", "d"}, Colour.RED, Colour.BLUE],
        *[np.dtype("float32"), jnp.float32, np, jnp, len, [].append, [1].append, b"x", 1j, slice(1, 2), ...],
        gymnasium.spaces.Box(0, 1, (2,)),
        *optimizers(),
    ]


def test_anything_can_be_described_and_told_apart():
    marks = [fingerprint(describe(thing)) for thing in things()]
    assert marks == [fingerprint(describe(thing)) for thing in things()]
    same = {i: j for i, a in enumerate(marks) for j, b in enumerate(marks[:i]) if a == b}
    assert not same, [(things()[i], things()[j]) for i, j in same.items()]
    assert " at 0x" not in json.dumps([describe(thing) for thing in things()])


def test_descriptions_are_the_same_in_every_process():
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import jax; jax.config.update('jax_enable_x64', True);"
        "import test_config as t; print(t.fingerprint(t.describe([t.things(), t.OWN])))"
    )
    command = [sys.executable, "-c", code, str(Path(__file__).parent)]
    pair = [
        subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONHASHSEED": seed}
        )
        for seed in ("1", "2")
    ]
    first, second = (process.communicate(timeout=60)[0] for process in pair)
    assert first == second and len(first) == 65


def test_a_field_called_type_does_not_hide_the_class():
    description = describe(Features(jnp.tanh, jnp.ones(2)))
    assert description["type"].endswith("test_config.Features") and description["type_"] == "rbf"


def test_cycles_and_depth_end():
    loop: list[Any] = [1]
    loop.append(loop)
    assert describe(loop) == {"list": [1, {"cycle": 1}]}

    def recursive(n):
        return recursive(n - 1) if n else late

    assert describe(recursive)["closure"]["recursive"] == {"cycle": 2}
    late = 1
    deep: Any = 0
    for _ in range(5000):
        deep = (deep,)
    assert "deeper" in json.dumps(describe(deep))
    node = Opaque(1.0)
    node.self = node
    assert describe(node)["self"] == {"cycle": 1}


BAD = [
    ({"type": "antigravity.Anything"}, "cannot be rebuilt"),
    ({"type": "os.system"}, "cannot be rebuilt"),
    ({"type": "objectives.AbstractObjective"}, "cannot be rebuilt"),
    ({"type": "objectives.Nothing"}, "cannot be rebuilt"),
    ({"type": ["objectives.MeanVariance"]}, "cannot be rebuilt"),
    (
        {"type": "optax.base.GradientTransformationExtraArgs", "init": None, "update": None},
        "cannot be rebuilt",
    ),
    ({"function": "os.system"}, "cannot be rebuilt"),
    ({"function": "jax.nn.relu", "closure": {}}, "cannot be rebuilt"),
    ({"function": []}, "cannot be rebuilt"),
    ({"class": "builtins.int"}, "cannot be rebuilt"),
    ({"set": [1]}, "cannot be rebuilt"),
    ({"type": "objectives.MeanVariance", "risk_aversion": -1.0}, "risk_aversion"),
    ({"type": "objectives.MeanVariance", "risk_averse": 1.0}, "is no field of MeanVariance"),
    ({"type": "policies.Raw"}, "is missing for Raw"),
    ({"type": "policies.RBF", "centres": 3, "widths": None}, "wrong kind"),
    ({"array": [2, -1], "dtype": "float32"}, "list of sizes"),
    ({"array": "x", "dtype": "float32"}, "list of sizes"),
    ({"array": [2], "dtype": "nonsense"}, "name of a type"),
]


@pytest.mark.parametrize(("description", "match"), BAD)
def test_what_fenchel_does_not_know_is_refused(description, match):
    with pytest.raises(InputError, match=match):
        build({"policy": [description]})
    assert "antigravity" not in sys.modules


def test_absent_fields_take_their_defaults():
    assert build({"type": "objectives.MeanVariance"}) == objectives.MeanVariance()


def test_users_own_objects_must_be_passed_in_python():
    for obj in (Features(jnp.tanh, jnp.ones(2)), scaled(1.0), optax.adam(1e-3), Opaque(1.0)):
        with pytest.raises(InputError, match="pass the object in Python"):
            build(stored(obj))
