"""Acting on the host is the compiled policy; several choices at once are independent softmaxes."""

from types import SimpleNamespace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, MultiDiscrete

from fenchel import InputError
from fenchel.policies import AbstractPolicy, LinearSoftmax, ProductSoftmax, acting, check_policy, make_policy
from fenchel.policies.hosted import draw_acting

SEEN = {"box": Box(-1, 3, (3,), np.float64), "index": Discrete(5)}
KEY = jax.random.key(0)
DONE = {"one": Discrete(3), "two": Discrete(2), "several": MultiDiscrete([2, 3]), "real": Box(-1, 1, (2,))}


def env(seen, done):
    return SimpleNamespace(observation_space=SEEN[seen], action_space=DONE[done])


def drawn(name, seen, done, **how):
    """A policy with parameters of unit scale; its first ones are never computed."""
    shapes = eqx.filter_eval_shape(lambda key: make_policy(name, env(seen, done), key=key, **how), KEY)
    rng = np.random.default_rng(1)
    return jax.tree.map(
        lambda leaf: jnp.asarray(rng.normal(size=leaf.shape)) if hasattr(leaf, "shape") else leaf, shapes
    )


@pytest.mark.parametrize(
    ("name", "seen", "done", "how"),
    [
        ("mlp", "box", "one", {}),
        ("mlp", "box", "several", {}),
        ("mlp", "box", "real", {}),
        ("mlp", "index", "two", {"epsilon": 0.1}),
        ("linear", "box", "one", {"epsilon": 0.1, "features": "raw"}),
        ("linear", "index", "real", {}),
        ("tabular", "index", "two", {}),
        ("direct", "index", "one", {}),
        ("linear", "box", "two", {"features": "rbf"}),
    ],
)
def test_the_host_acts_like_the_compiled_policy(name, seen, done, how):
    space, policy = SEEN[seen], drawn(name, seen, done, **how)
    if name == "direct":
        policy = eqx.tree_at(lambda x: x.table, policy, jnp.abs(policy.table))
    space.seed(0)
    batch = np.stack([space.sample() for _ in range(50)])
    shape = jax.eval_shape(lambda: policy.draw(jax.random.key(2), (3, 50))).shape
    noise = np.random.default_rng(0).random(shape)
    found = np.stack([acting(policy)(noise, step, batch) for step in range(3)])
    sample = jax.jit(jax.vmap(jax.vmap(lambda z, s: policy.sample(z, s)[0]), in_axes=(0, None)))
    expected = sample(jax.tree.map(jnp.asarray, noise), jnp.asarray(batch))
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_several_choices_are_independent_softmaxes():
    policy = drawn("mlp", "box", "several")
    seen = jnp.array([0.3, -0.2, 1.0])
    first, second = (np.asarray(chances) for chances in policy.probabilities(seen))
    chances = first[:, None] * second[None]
    assert chances.sum() == pytest.approx(1)
    pairs = jnp.asarray(list(np.ndindex(2, 3)))
    log_prob, (same, spread_of), entropy, mode, actions = jax.jit(_answers)(policy, seen, pairs)
    np.testing.assert_allclose(log_prob, np.log(chances.ravel()))
    np.testing.assert_allclose(same, log_prob)
    np.testing.assert_allclose([*spread_of, entropy], -np.sum(chances * np.log(chances)))
    assert mode.tolist() == [first.argmax(), second.argmax()]
    actions = np.asarray(actions)
    counts = np.zeros((2, 3))
    np.add.at(counts, tuple(actions.T), 1)
    error = np.sqrt(chances * (1 - chances) / 4000)
    np.testing.assert_array_less(np.abs(counts / 4000 - chances), 4 * error)


def _answers(policy, seen, pairs):
    sample = jax.vmap(lambda z: policy.sample(z, seen)[0])
    return (
        jax.vmap(lambda action: policy.log_prob(seen, action))(pairs),
        jax.vmap(lambda action: policy.score_terms(seen, action))(pairs),
        policy.entropy(seen),
        policy.mode(seen),
        sample(policy.draw(jax.random.key(3), (4000,))),
    )


def test_first_choices_are_uniform():
    policy = make_policy("linear", env("index", "several"))
    assert isinstance(policy, ProductSoftmax)
    found = [chances.tolist() for chances in policy.probabilities(jnp.array(2))]
    assert found == [pytest.approx([1 / 2] * 2), pytest.approx([1 / 3] * 3)]


def test_what_does_not_fit_several_choices_is_refused():
    several = env("box", "several")
    with pytest.raises(InputError, match=r"takes choices among \(2, 3\)"):
        check_policy(make_policy("linear", env("box", "one")), several)
    with pytest.raises(InputError, match=r"epsilon = 0\.1: is for one choice"):
        make_policy("linear", several, epsilon=0.1)
    with pytest.raises(InputError, match="counted from 0"):
        shifted = SimpleNamespace(observation_space=SEEN["box"], action_space=MultiDiscrete([2], start=[1]))
        make_policy("linear", shifted)


class Keyed(AbstractPolicy):
    """A policy of somebody else's, whose noise is keys."""

    inner: LinearSoftmax

    def sample(self, noise, observation):
        return self.inner.sample(jax.random.uniform(noise), observation)

    def log_prob(self, observation, action):
        return self.inner.log_prob(observation, action)

    def mode(self, observation):
        return self.inner.mode(observation)


def test_keys_are_noise_as_well():
    policy = Keyed(make_policy("linear", env("box", "two")))
    noise = draw_acting(KEY, 0, policy, (2, 1000))
    actions = [acting(policy)(noise, step, np.zeros((1000, 3))) for step in range(2)]
    assert np.mean(actions) == pytest.approx(0.5, abs=4 * 0.5 / 2000**0.5)
    assert (actions[0] != actions[1]).any()
