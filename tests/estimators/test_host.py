"""Episodes played on the host: their boundaries, their independence of what else is played, and faults."""

import functools

import jax
import numpy as np
import pytest
from envs.gyms import LONGEST, Faulty, Token

from fenchel import InputError, make_policy
from fenchel.envs import GymnasiumEnvironment
from fenchel.envs.gym import Norms
from fenchel.estimators.host import Player, scaled

KEY = jax.random.key(0)


@pytest.fixture(scope="module")
def policy():
    return make_policy("linear", GymnasiumEnvironment(Token))


def play(source, policy, count, key=KEY, norms=Norms(), **how):  # noqa: B008
    env = GymnasiumEnvironment(source, **how)
    with Player(env, count) as player:
        return player.play(key, policy, count, norms)


@pytest.mark.parametrize("copies", [1, 3, 16])
def test_every_episode_is_whole_and_nothing_else(policy, copies):
    """Each has one number, steps 0, 1, … and the rewards that belong to them, and zeros after its end."""
    batch = play(Token, policy, 10, copies=copies, discount=0.9)
    episodes = batch.episodes
    lengths = episodes.alive.sum(axis=0)
    for i, length in enumerate(lengths):
        number, step = episodes.observations[:length, i].T
        assert len(set(number)) == 1
        np.testing.assert_array_equal(step, np.arange(length))
        np.testing.assert_allclose(episodes.rewards[:length, i], number + step)
        assert episodes.returns[i] == pytest.approx(np.sum((number + step) * 0.9**step))
        assert episodes.alive[:length, i].all()
    for part in (episodes.rewards, episodes.alive, episodes.observations.any(axis=2)):
        assert not part[np.arange(len(part))[:, None] >= lengths].any()
    assert len(np.unique(episodes.observations[0, :, 0])) == 10
    np.testing.assert_array_equal(batch.truncated, lengths % 2 == 0)
    assert len(batch.observed) == lengths.sum()


def test_short_episodes_are_not_preferred(policy):
    """Lengths are uniform on 1 … 6; to take the ten that end first of sixteen would give short ones."""
    lengths = [play(Token, policy, 20, jax.random.key(k)).episodes.alive.sum(axis=0) for k in range(60)]
    mean, error = np.mean(lengths), np.std(lengths) / np.size(lengths) ** 0.5
    assert mean == pytest.approx((1 + LONGEST) / 2, abs=4 * error)


class Counted(Token):
    """It counts the steps of all copies."""

    steps = 0

    def step(self, action):
        Counted.steps += 1
        return super().step(action)


def test_copies_without_an_episode_rest(policy):
    batch = play(Counted, policy, 10, copies=4)
    assert Counted.steps == batch.episodes.alive.sum()


def test_a_batch_is_a_function_of_its_key(policy):
    env = GymnasiumEnvironment(Token)
    with Player(env, 5) as player:
        first, other, again = (player.play(jax.random.key(k), policy, 5, Norms()) for k in (1, 2, 1))
    np.testing.assert_array_equal(first.episodes.observations, again.episodes.observations)
    assert (first.episodes.returns != other.episodes.returns).all()


def test_processes_play_the_same_episodes():
    env = GymnasiumEnvironment("CartPole-v1")
    policy = make_policy("linear", env)
    sync, processes = (
        play("CartPole-v1", policy, 2, vectorization=name, copies=2) for name in ("sync", "async")
    )
    for one, other in zip(jax.tree.leaves(sync), jax.tree.leaves(processes), strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_policy_sees_what_the_norms_make_of_it(policy):
    norms = Norms((0.5, 1.0), (0.1, 2.0), 0.25)
    plain, normed = (play(Token, policy, 8, norms=one) for one in (Norms(), norms))
    shown = np.clip((plain.episodes.observations - [0.5, 1.0]) / [0.1, 2.0], -10, 10)
    alive = plain.episodes.alive[..., None]
    np.testing.assert_allclose(normed.episodes.observations, np.where(alive, shown, 0))
    np.testing.assert_array_equal(normed.observed, plain.observed)
    seeing = GymnasiumEnvironment(Token, observe="return", discount=0.9)
    batch = play(
        Token, make_policy("linear", seeing), 8, norms=Norms(reward=0.25), observe="return", discount=0.9
    )
    rewards = batch.episodes.rewards * 0.25 * 0.9 ** np.arange(len(batch.episodes.rewards))[:, None]
    so_far = np.cumsum(rewards, axis=0) - rewards
    alive = batch.episodes.alive
    np.testing.assert_allclose(batch.episodes.observations[..., 2][alive], so_far[alive])
    step = np.broadcast_to(np.arange(len(alive))[:, None], alive.shape)
    np.testing.assert_array_equal(batch.episodes.observations[..., 3][alive], step[alive])


def test_scaling_changes_rewards_and_returns(policy):
    episodes = play(Token, policy, 4).episodes
    found = scaled(episodes, 0.5)
    np.testing.assert_allclose(found.returns, 0.5 * np.sum(episodes.rewards, axis=0))
    np.testing.assert_allclose(found.rewards, 0.5 * episodes.rewards)


FAULTS = [
    (
        {"reward": np.nan},
        r"^reward = nan: in step 3 of an episode of Faulty, after action [01]: must be finite",
    ),
    (
        {"reward": np.inf, "at": 0},
        r"^reward = inf: in step 0 of an episode of Faulty, after action [01]: must",
    ),
    (
        {"seen": np.nan},
        r"^observation = \[nan\]: in step 3 of an episode of Faulty, after action [01]: must be",
    ),
    ({"length": -1}, r"^horizon = None: an episode of Faulty was not over after 10,000 steps; say where to"),
]


@pytest.mark.parametrize(("fault", "message"), FAULTS)
def test_faults_are_named(fault, message):
    source = functools.partial(Faulty, **fault)
    policy = make_policy("linear", GymnasiumEnvironment(source))
    with pytest.raises(InputError, match=message):
        play(source, policy, 3, copies=2)


def test_a_horizon_ends_what_does_not_end():
    source = functools.partial(Faulty, length=-1, at=-1)
    policy = make_policy("linear", GymnasiumEnvironment(source))
    batch = play(source, policy, 3, horizon=21)
    assert batch.episodes.returns.tolist() == [-21] * 3
    assert batch.truncated.all()
    assert batch.episodes.alive.shape == (21, 3)
