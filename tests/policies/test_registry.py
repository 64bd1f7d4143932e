"""`make_policy` and `check_policy` on spaces alone."""

from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete

from fenchel.envs import make
from fenchel.errors import InputError
from fenchel.policies import (
    FEATURES,
    POLICIES,
    RBF,
    Beside,
    DirectTabular,
    LinearGaussian,
    LinearSoftmax,
    MLPGaussian,
    MLPSoftmax,
    OneHot,
    Raw,
    Scaled,
    Tabular,
    check_policy,
    make_policy,
)
from fenchel.policies.defaults import default_policy
from fenchel.policies.grids import grid_features

KEY = jax.random.key(0)


class Spaces(NamedTuple):
    observation_space: gymnasium.Space[Any]
    action_space: gymnasium.Space[Any]


BOX = Box(np.array([0.0, 0.0]), np.array([4.0, 20.0]), dtype=np.float64)
OPEN = Box(np.array([0.0, -np.inf]), np.array([4.0, np.inf]), dtype=np.float64)
OPTION, TABLE = Spaces(BOX, Discrete(2)), Spaces(Discrete(7), Discrete(3))
MARKET = Spaces(OPEN, Box(-np.inf, np.inf, (3,), dtype=np.float64))
BOUNDED = Spaces(BOX, Box(0.0, 2.0, (3,), dtype=np.float64))


def observe(env):
    space = env.observation_space
    return jnp.array(3) if isinstance(space, Discrete) else jnp.asarray(np.nan_to_num(space.low))


@pytest.mark.parametrize(
    ("name", "env", "kind"),
    [
        ("tabular", TABLE, Tabular),
        ("direct", TABLE, DirectTabular),
        ("linear", TABLE, LinearSoftmax),
        ("mlp", TABLE, MLPSoftmax),
        ("linear", OPTION, LinearSoftmax),
        ("mlp", OPTION, MLPSoftmax),
        ("linear", MARKET, LinearGaussian),
        ("mlp", MARKET, MLPGaussian),
        ("linear", BOUNDED, LinearGaussian),
        ("mlp", BOUNDED, MLPGaussian),
    ],
)
def test_first_policies(name, env, kind):
    policy = make_policy(name, env, key=KEY)
    assert isinstance(policy, kind)
    assert all(jnp.issubdtype(leaf.dtype, jnp.floating) for leaf in jax.tree.leaves(policy))
    if isinstance(env.action_space, Discrete):
        np.testing.assert_allclose(policy.probabilities(observe(env)), 1 / env.action_space.n)
    else:
        middle, spread = (1.0, 0.5) if env is BOUNDED else (0.0, 1.0)
        np.testing.assert_allclose(policy.mode(observe(env)), middle)
        np.testing.assert_allclose(jnp.exp(policy.log_std), spread)


def test_every_name_is_covered():
    assert set(POLICIES) == {"tabular", "direct", "linear", "mlp", "dated"}
    assert set(FEATURES) == {"raw", "scaled", "onehot", "rbf", "tamar2014"}
    with pytest.raises(InputError, match="did you mean 'linear'"):
        make_policy("liner", OPTION)
    with pytest.raises(InputError, match="did you mean 'scaled'"):
        make_policy("linear", OPTION, features="scale")


def test_options():
    assert make_policy("linear", OPTION, epsilon=0.1).epsilon == 0.1
    assert make_policy("tabular", TABLE, epsilon=0.1).epsilon == 0.1
    assert [
        layer.weight.shape for layer in make_policy("mlp", OPTION, key=KEY, hidden=(5, 6)).network.layers
    ] == [
        (5, 2),
        (6, 5),
        (1, 6),
    ]
    np.testing.assert_allclose(jnp.exp(make_policy("linear", MARKET, std=0.3).log_std), 0.3)


def test_bias_where_features_lack_a_constant():
    sizes = {"raw": 3, "scaled": 3, "rbf": 25, "tamar2014": 32}
    for features, size in sizes.items():
        assert make_policy("linear", OPTION, features=features).features.size == size
    assert make_policy("linear", OPTION, features=Raw(2), bias=False).features.size == 2
    assert make_policy("linear", TABLE).features.size == 7
    assert make_policy("mlp", OPTION, key=KEY).features.size == 2


def test_rbf_grids():
    features = make_policy("linear", OPTION, features="rbf", rbf_grid=(3, 5)).features
    assert features.centres == ((0, 2, 4), (0, 5, 10, 15, 20))
    assert features.widths == (2, 5)
    features = make_policy("linear", OPTION, rbf_centres=((0, 1), (0, 6, 12)), rbf_widths=(1, 3)).features
    assert (features.size, features.widths) == (6, (1, 3))


def test_the_default_policy_sees_what_is_appended_beside_its_bumps():
    plain, seeing = (default_policy(make("option", observe=observe)) for observe in ("state", "return"))
    bumps = plain.features.features
    assert isinstance(bumps, RBF)
    assert seeing.features.features == Beside(bumps, 2, Scaled((-1, 0), (1, 20)))
    flat = default_policy(make("portfolio", observe="return"))
    assert flat.features.features.size == 2 + default_policy(make("portfolio")).features.features.size
    with pytest.raises(InputError, match="has more dimensions than the observation, 1"):
        grid_features(gymnasium.spaces.Box(0, 1, (1,)), ((0.0, 1.0), (0.0, 1.0)))


def test_unbounded_coordinates_stay_as_they_are():
    features = make_policy("linear", MARKET, bias=False).features
    np.testing.assert_allclose(features(jnp.array([4.0, 123.0])), [1, 123])


@pytest.mark.parametrize(
    ("name", "env", "options", "message"),
    [
        ("tabular", OPTION, {}, r"observe='index'"),
        ("direct", MARKET, {}, r"observe='index'"),
        ("tabular", Spaces(Discrete(3), BOX), {}, "is continuous; use a linear or mlp"),
        ("tabular", TABLE, {"features": "raw"}, "has no features"),
        ("direct", TABLE, {"epsilon": 0.1}, "epsilon"),
        ("linear", MARKET, {"epsilon": 0.1}, "epsilon = 0.1.*continuous"),
        ("linear", OPTION, {"epsilon": 0.5}, "below 1/2"),
        ("linear", MARKET, {"std": 0.0}, "std"),
        ("mlp", OPTION, {}, "key = None"),
        ("mlp", OPTION, {"key": KEY, "hidden": (0,)}, "hidden = 0"),
        ("linear", OPTION, {"features": Raw(3)}, r"does not take observations.*take 3 numbers"),
        ("linear", OPTION, {"features": OneHot(3)}, "3 states"),
        ("linear", OPTION, {"features": "onehot"}, "Discrete observation"),
        ("linear", TABLE, {"features": "raw"}, "use 'onehot'"),
        ("linear", MARKET, {"features": "rbf"}, r"dimensions \[1\]; give rbf_centres"),
        ("linear", OPTION, {"rbf_grid": (3,)}, "2 numbers, one per dimension"),
        ("linear", OPTION, {"rbf_grid": (3, 1)}, "rbf_grid = 1"),
        ("linear", OPTION, {"rbf_centres": ((0, 1),)}, "a tuple per dimension"),
        ("linear", OPTION, {"rbf_grid": (2, 2), "rbf_centres": ((0,), (0,))}, "one of the two"),
        ("linear", OPTION, {"features": "raw", "rbf_grid": (2, 2)}, "features='rbf'"),
        (
            "linear",
            Spaces(Box(0, 1, (5,)), Discrete(2)),
            {"features": "rbf"},
            "5 dimensions make 3125 features",
        ),
        ("linear", Spaces(Box(0, 1, (5,)), Discrete(2)), {"features": "tamar2014"}, "price and a step"),
        ("linear", BOUNDED, {"bias": False}, "bias = False"),
        ("linear", Spaces(Dict({"a": BOX}), Discrete(2)), {}, "Box or a Discrete"),
        ("linear", Spaces(BOX, Discrete(2, start=1)), {}, "counted from 0"),
        ("linear", Spaces(BOX, Box(0, 5, (1,), np.int32)), {}, "whole numbers"),
    ],
)
def test_errors_of_make_policy(name, env, options, message):
    with pytest.raises(InputError, match=message) as caught:
        make_policy(name, env, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("policy", "env", "message"),
    [
        (Tabular(jnp.zeros((5, 2))), TABLE, r"5 states, and observations are Discrete\(7\)"),
        (Tabular(jnp.zeros((7, 1))), TABLE, r"among 2 actions.*Discrete\(3\)"),
        (Tabular(jnp.zeros((7, 1))), OPTION, "observe='index'"),
        (Tabular(jnp.zeros((7, 1))), Spaces(Discrete(7), BOX), r"int32\[\].*Gaussian"),
        (LinearSoftmax(jnp.zeros((1, 3)), Raw(3)), OPTION, "take 3 numbers"),
        (LinearGaussian(jnp.zeros(3), jnp.zeros((3, 2)), Raw(2)), OPTION, r"float64\[3\].*softmax"),
        (LinearGaussian(jnp.zeros(2), jnp.zeros((2, 2)), Raw(2)), BOUNDED, r"float64\[2\].*\(3,\)"),
    ],
)
def test_errors_of_check_policy(policy, env, message):
    with pytest.raises(InputError, match=message) as caught:
        check_policy(policy, env)
    assert "\n" not in str(caught.value)


def test_a_stranger_policy_is_traced():
    class Careless(LinearGaussian.__mro__[1]):
        def mean(self, observation):
            return jnp.zeros(4) @ observation

    with pytest.raises(InputError, match="policy = 'Careless': does not take observations"):
        check_policy(Careless(jnp.zeros(())), OPTION)
