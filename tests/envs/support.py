"""What the tests of environments share."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from fenchel.envs import ENVIRONMENTS, OBSERVATIONS
from fenchel.estimators import draw_rollout, rollout
from fenchel.policies.base import AbstractPolicy

CASES = [
    (name, preset, observe)
    for name, cls in ENVIRONMENTS.items()
    for preset in cls.PRESETS
    for observe in OBSERVATIONS
    if (preset, observe) != ("tamar2014", "index")
    if observe != "index" or cls(**cls.PRESETS[preset]).state_count is not None
]


class Rule(AbstractPolicy):
    """A deterministic policy given by a function of the observation."""

    rule: object = eqx.field(static=True)

    def sample(self, noise, observation):
        return self.rule(observation), jnp.zeros(())

    def log_prob(self, observation, action):
        return jnp.zeros(())

    def mode(self, observation):
        return self.rule(observation)

    def draw(self, key, shape):
        return jnp.zeros(shape)


always = Rule(lambda observation: jnp.ones((), jnp.int32))
never = Rule(lambda observation: jnp.zeros((), jnp.int32))


def sample_returns(env, policy, count, batch=1000, seed=0):
    """Returns of `count` episodes, in batches that fit the cache."""

    @jax.jit
    def run(keys):
        return jax.lax.map(
            lambda key: rollout(env, policy, draw_rollout(key, env, policy, batch)).returns, keys
        )

    return np.asarray(run(jax.random.split(jax.random.key(seed), count // batch))).ravel()


def play(env, noise_reset, noise_steps, actions):
    """One episode up to its end: rewards, observations from the first on, ends."""
    played = _scan(env, noise_reset, noise_steps, jnp.asarray(actions))
    rewards, observations, dones = (np.asarray(part) for part in played)
    steps = int(np.argmax(dones)) + 1
    return rewards[:steps], observations[: steps + 1], dones[:steps]


@eqx.filter_jit
def _scan(env, noise_reset, noise_steps, actions):
    def advance(state, now):
        state, seen = env.step(now[0], state, now[1])
        return state, (seen.reward, seen.observation, seen.terminated | seen.truncated)

    state, first = env.reset(noise_reset)
    _, (rewards, observations, dones) = jax.lax.scan(advance, state, (noise_steps, actions))
    return rewards, jnp.concatenate([first[None], observations]), dones


def recorded(env, seed, invest=0.5):
    """Uniform noise of one episode, and random actions."""
    rng = np.random.default_rng(seed)
    noise_reset = rng.random(env.noise_size)
    noise_steps = rng.random((env.horizon, env.noise_size))
    return noise_reset, noise_steps, (rng.random(env.horizon) < invest).astype(np.int32)


def settings(env):
    """Every parameter of an environment by name."""
    return {field.name: getattr(env, field.name) for field in dataclasses.fields(env)}


def assert_within(samples, mean, error=0.0):
    """The sample mean is within 4 standard errors of a mean that is itself known up to `error`."""
    own = np.std(samples) / np.sqrt(len(samples))
    assert abs(np.mean(samples) - mean) < 4 * np.hypot(own, error)


def assert_std_within(samples, std, error=0.0):
    """The same for the standard deviation, by the delta method."""
    squares = (samples - np.mean(samples)) ** 2
    own = np.std(squares) / np.sqrt(len(samples)) / (2 * np.std(samples))
    assert abs(np.std(samples) - std) < 4 * np.hypot(own, error)
