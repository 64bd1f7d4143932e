"""Names, presets and parameters; every bad value is refused by name."""

import math

import jax.numpy as jnp
import numpy as np
import pytest
from envs.support import settings
from gymnasium.spaces import Discrete

from fenchel.envs import (
    ENVIRONMENTS,
    AmericanOption,
    ObserveIndex,
    ObserveReturn,
    OptimalStopping,
    Portfolio,
    make,
    parameters,
)
from fenchel.errors import InputError

TREE = [
    ("start", 0.0),
    ("start", math.nan),
    ("start", "1.25"),
    ("up", -1.0),
    ("down", 0.0),
    ("start", 1e39),
    ("start", 1e-39),
    ("up", 1e39),
    ("down", 1e-39),
    ("up_probability", 1.5),
    ("horizon", 0),
    ("horizon", 2.5),
    ("horizon", 1100),
    ("horizon", 100_000),
    ("discount", 0.0),
    ("discount", 1.01),
    ("start_spread", -0.1),
    ("start_spread", 2.0),
]
BAD = [(cls, *pair) for cls in (AmericanOption, OptimalStopping) for pair in TREE]
BAD += [(AmericanOption, "put_strike", -1.0), (AmericanOption, "call_strike", math.inf)]
BAD += [(AmericanOption, "forced", 1), (AmericanOption, "start", jnp.ones(()))]
BAD += [(OptimalStopping, "waiting_cost", -0.1), (OptimalStopping, "cost_cap", 0.0)]
BAD += [
    (Portfolio, *pair)
    for pair in [
        ("liquid_rate", 0.0),
        ("rate_low", -0.1),
        ("rate_low", 2.5),
        ("rate_high", math.inf),
        ("switch_probability", -0.1),
        ("start_rate", "middle"),
        ("default_probability", 2.0),
        ("maturity", 0),
        ("invest_fraction", 0.0),
        ("invest_fraction", 1.5),
        ("invest_base", "welth"),
        ("rate_fixed", "never"),
        ("reward", "growht"),
        ("startup_cash", -5.0),
        ("horizon", True),
        ("discount", 2.0),
        ("discount", True),
    ]
]


@pytest.mark.parametrize(("cls", "field", "value"), BAD)
@pytest.mark.filterwarnings("ignore:A JAX array is being set as static")
def test_bad_values_are_refused_by_name(cls, field, value):
    with pytest.raises(InputError) as caught:
        cls(**{field: value})
    assert caught.value.field == field
    assert caught.value.value is value


@pytest.mark.parametrize("cls", [AmericanOption, OptimalStopping])
def test_a_rise_and_a_fall_are_blamed_together(cls):
    for factors in ({"up": 0.25, "down": 0.75}, {"up": 2.0, "down": 3.0}):
        with pytest.raises(InputError, match="a rise must be above a fall") as caught:
            cls(**factors)
        assert (caught.value.field, caught.value.value) == ("up, down", tuple(factors.values()))


@pytest.mark.parametrize(
    ("cls", "longest"), [(AmericanOption, 743), (OptimalStopping, 126)], ids=["option", "stopping"]
)
def test_prices_stay_in_the_range_of_single_precision(cls, longest):
    with np.errstate(all="raise"):
        box = cls(horizon=longest).observation_space
        assert np.float32(box.low[0]) >= np.finfo(np.float32).tiny
        assert np.isfinite(np.float32(box.high[0]))
    with pytest.raises(InputError, match=f"range of a float32, .*; choose at most {longest}$"):
        cls(horizon=longest + 1)
    assert cls(horizon=100_000, up=1.0001, down=0.9999).horizon == 100_000


def test_misspelt_choices_get_a_hint():
    with pytest.raises(InputError, match="did you mean 'wealth'"):
        Portfolio(invest_base="welth")
    with pytest.raises(InputError, match="did you mean 'option'"):
        make("optoin")
    with pytest.raises(InputError, match="did you mean 'liu2018'"):
        make("option", "liu2017")
    with pytest.raises(InputError, match="did you mean 'horizon'"):
        make("option", horizn=3)
    with pytest.raises(InputError, match="did you mean 'index'"):
        make("option", observe="indx")


def test_presets():
    assert settings(make("option")) == settings(make("option", "liu2018"))
    tamar = make("option", "tamar2014")
    assert (tamar.discount, tamar.horizon, tamar.start_spread) == (0.98, 19, 0.1)
    capped = make("stopping", "chow2018", cost_cap=None)
    assert (capped.start, capped.up, capped.cost_cap) == (1.0, 2.0, None)
    assert settings(OptimalStopping()) | {"start": 1.0, "up": 1.5, "down": 0.8, "discount": 0.95} == settings(
        make("stopping", "chow2014")
    )


@pytest.mark.parametrize("cls", ENVIRONMENTS.values())
def test_parameters_are_all_the_fields(cls):
    described = parameters(cls)
    found = settings(cls())
    fixed = {name: found.pop(name) for name in set(found) - set(described)}
    assert fixed in ({}, {"discount": 1.0}, {"discount": 1.0, "table": None})
    assert {name: entry.default for name, entry in described.items()} == found
    assert all(entry.help for entry in described.values())
    for preset in cls.PRESETS.values():
        assert set(preset) <= set(described)


def test_environments_are_hashable_and_equal_by_value():
    assert hash(make("option")) == hash(make("option"))
    assert make("option") == make("option", "liu2018")
    assert make("option") != make("option", horizon=3)


def test_observers():
    assert isinstance(make("portfolio", observe="return"), ObserveReturn)
    indexed = make("stopping", observe="index", horizon=3)
    assert isinstance(indexed, ObserveIndex)
    assert indexed.observation_space == Discrete(6)
    assert (indexed.horizon, indexed.discount, indexed.action_space) == (3, 1.0, Discrete(2))


def test_observers_refuse_what_they_cannot_show():
    with pytest.raises(InputError, match="set start_spread to 0"):
        make("option", "tamar2014", observe="index")
    with pytest.raises(InputError, match="wrap before the index"):
        ObserveReturn(ObserveIndex(AmericanOption()))
    with pytest.raises(InputError, match="start_spread"):
        AmericanOption(start_spread=0.1).index(AmericanOption().reset(jnp.zeros(1))[0])
