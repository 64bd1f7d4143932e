"""The checker passes every environment of the library, and names what is wrong with broken ones."""

import subprocess
import sys
from typing import Any

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from envs.support import CASES

from fenchel.envs import AbstractEnvironment, Portfolio, TimeStep, check_env, make
from fenchel.errors import InputError

FLOAT32 = """
import warnings
warnings.simplefilter("error")
import jax
from fenchel.envs import check_env, make
for name, preset, observe in {cases!r}:
    env = make(name, preset, observe)
    check_env(env, episodes=4)
    state, seen = jax.eval_shape(env.reset, env.draw(jax.random.key(0), ()))
    types = {{leaf.dtype.name for leaf in jax.tree.leaves((state, seen))}}
    assert types <= {{"float32", "int32", "bool"}}, (name, types)
"""


@pytest.mark.parametrize(("name", "preset", "observe"), CASES)
def test_library(name, preset, observe):
    check_env(make(name, preset, observe), episodes=4)


@pytest.mark.parametrize(
    ("base", "fixed", "reward"), [("cash", "maturity", "log"), ("initial", "purchase", "money")]
)
def test_portfolio_options(base, fixed, reward):
    check_env(Portfolio(invest_base=base, rate_fixed=fixed, reward=reward, maturity=1, horizon=8))


@pytest.mark.parametrize(("name", "preset", "observe"), CASES)
def test_types_do_not_drift(name, preset, observe):
    """Weak types included: a scan that starts from `reset` needs no second pass to find its types."""
    env = make(name, preset, observe)
    noise = env.draw(jax.random.key(0), ())
    before, first = jax.eval_shape(env.reset, noise)
    space = env.action_space
    action = jnp.zeros(space.shape, float if isinstance(space, gymnasium.spaces.Box) else jnp.int32)
    after, seen = jax.eval_shape(env.step, noise, before, action)
    for old, new in zip(
        jax.tree.leaves((before, first)), jax.tree.leaves((after, seen.observation)), strict=True
    ):
        assert (old.shape, old.dtype, old.weak_type) == (new.shape, new.dtype, new.weak_type)
        assert not old.weak_type
    assert not seen.reward.weak_type


def test_single_precision():
    cases = [case for case in CASES if "liu2018" in case and (case[2] == "state" or case[0] == "option")]
    code = FLOAT32.format(cases=cases)
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)


class Walk(AbstractEnvironment):
    """A correct environment with keys for noise and a continuous action; its subclasses break one thing."""

    horizon: Any = 5
    discount: Any = 1.0

    @property
    def observation_space(self):
        return gymnasium.spaces.Box(-np.inf, np.inf, (2,), dtype=np.float64)

    @property
    def action_space(self):
        return gymnasium.spaces.Box(-1, 1, (3,), dtype=np.float64)

    def reset(self, noise):
        state = {"place": jax.random.normal(noise, (2,)), "step": jnp.zeros((), jnp.int32), "key": noise}
        return state, state["place"]

    def step(self, noise, state, action):
        place = state["place"] + jax.random.normal(noise, (2,)) + jnp.sum(action)
        step = state["step"] + 1
        after = {"place": place, "step": step, "key": jax.random.fold_in(state["key"], 1)}
        return after, self.seen(place, step)

    def seen(self, place, step):
        return TimeStep(place, jnp.sum(place), jnp.zeros((), bool), step >= self.horizon)


def replaced(**parts):
    """A walk that answers with some parts of the time step computed otherwise."""

    class Broken(Walk):
        def seen(self, place, step):
            right = Walk.seen(self, place, step)
            return right._replace(**{name: part(place, step) for name, part in parts.items()})

    return Broken()


class ForgetsKey(Walk):
    def step(self, noise, state, action):
        after, seen = Walk.step(self, noise, state, action)
        return {name: after[name] for name in ("place", "step")}, seen


class DriftingState(Walk):
    def step(self, noise, state, action):
        after, seen = Walk.step(self, noise, state, action)
        return {**after, "step": after["step"].astype(float)}, seen


class OneAnswer(Walk):
    def reset(self, noise):
        return Walk.reset(self, noise)[0]


class GymnasiumStep(Walk):
    def step(self, noise, state, action):
        after, seen = Walk.step(self, noise, state, action)
        return after, tuple(seen)


class Impure(Walk):
    counter: list = eqx.field(static=True, default_factory=lambda: [0])

    def step(self, noise, state, action):
        self.counter[0] += 1
        after, seen = Walk.step(self, noise, state, action)
        return after, seen._replace(reward=seen.reward + self.counter[0])


class Branching(Walk):
    def step(self, noise, state, action):
        if state["step"] > 3:
            return state, self.seen(state["place"], state["step"])
        return Walk.step(self, noise, state, action)


class NarrowSpace(Walk):
    @property
    def observation_space(self):
        return gymnasium.spaces.Box(-0.1, 0.1, (2,), dtype=np.float64)


class OtherShape(Walk):
    @property
    def observation_space(self):
        return gymnasium.spaces.Box(-np.inf, np.inf, (3,), dtype=np.float64)


class OtherPrecision(Walk):
    @property
    def observation_space(self):
        return gymnasium.spaces.Box(-np.inf, np.inf, (2,), dtype=np.float32)


class OtherKind(Walk):
    @property
    def observation_space(self):
        return gymnasium.spaces.Box(-9, 9, (2,), dtype=np.int32)


class NoSpace(Walk):
    @property
    def action_space(self):
        return None


class FlatNoise(Walk):
    def draw(self, key, shape):
        return jax.random.split(key, int(np.prod(shape)))


class BadNumbers(Walk):
    @property
    def state_count(self):
        return 3

    def index(self, state):
        return state["step"]


class BatchAware(Walk):
    """Answers differently when compiled: it looks at whether its argument is traced."""

    def seen(self, place, step):
        right = Walk.seen(self, place, step)
        return right._replace(reward=right.reward + isinstance(place, jax.core.Tracer))


BROKEN = [
    ("horizon", Walk(horizon=0)),
    ("horizon", replaced(truncated=lambda place, step: step < 0)),
    ("discount", Walk(discount=1.5)),
    ("discount", Walk(discount=0.0)),
    ("state", ForgetsKey()),
    ("state['step']", DriftingState()),
    ("reset", OneAnswer()),
    ("step", GymnasiumStep()),
    ("step[1].reward", Impure()),
    ("step[1].reward", BatchAware()),
    ("step", Branching()),
    ("observation", NarrowSpace()),
    ("observation", OtherShape()),
    ("observation", OtherKind()),
    ("observation", replaced(observation=lambda place, step: place[:1])),
    ("observation", replaced(observation=lambda place, step: place + jnp.where(step > 4, jnp.inf, 0))),
    ("action_space", NoSpace()),
    ("draw", FlatNoise()),
    ("index", BadNumbers()),
    ("reward", replaced(reward=lambda place, step: place)),
    ("reward", replaced(reward=lambda place, step: step)),
    ("reward", replaced(reward=lambda place, step: jnp.where(step > 4, jnp.nan, 1.0))),
    ("terminated", replaced(terminated=lambda place, step: jnp.zeros(()))),
    ("truncated", replaced(truncated=lambda place, step: step[None] > 5)),
]


def test_a_correct_walk():
    check_env(Walk())


def test_precision_is_jax_s_to_choose():
    check_env(OtherPrecision())


def test_what_follows_an_end_is_ignored():
    class Garbage(Walk):
        def seen(self, place, step):
            right = Walk.seen(self, place, step)
            return right._replace(reward=jnp.where(step > 2, jnp.nan, 0.0), terminated=step >= 2)

    check_env(Garbage())


@pytest.mark.parametrize(("field", "env"), BROKEN)
def test_broken(field, env):
    with pytest.raises(InputError) as caught:
        check_env(env, episodes=3)
    assert caught.value.field == field


def test_episodes_must_be_counted():
    with pytest.raises(InputError, match="episodes"):
        check_env(Walk(), episodes=0)
