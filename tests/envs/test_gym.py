"""What a policy sees and does of Gymnasium's environments, and what is refused."""

import functools

import gymnasium
import numpy as np
import pytest
from envs.gyms import Arms, Corridor, Faulty, Token
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple

from fenchel import InputError, exact, make
from fenchel.envs import GymnasiumEnvironment
from fenchel.envs.gym import UNENDED, Norms
from fenchel.envs.gym_spaces import action_space, seen, seen_space, taken


def test_a_dict_is_flattened_as_gymnasium_flattens_it():
    space = Dict(b=Box(-1, 1, (2,)), a=Box(0, 5, (2, 2)))
    space.seed(0)
    batch = [space.sample() for _ in range(3)]
    joined = {name: np.stack([one[name] for one in batch]) for name in space.spaces}
    expected = np.stack([gymnasium.spaces.flatten(space, one) for one in batch])
    np.testing.assert_array_equal(seen(space, joined), expected)
    whole = seen_space(space)
    flat = gymnasium.spaces.flatten_space(space)
    np.testing.assert_array_equal(whole.low, flat.low)
    np.testing.assert_array_equal(whole.high, flat.high)


def test_indices_and_choices_count_from_zero():
    assert seen_space(Discrete(4, start=2)) == Discrete(4)
    assert seen(Discrete(4, start=2), np.array([2, 5])).tolist() == [0, 3]
    assert taken(Discrete(4, start=-1), np.array([0, 3])).tolist() == [-1, 2]
    square = MultiDiscrete([[2, 3], [4, 5]], start=[[1, 1], [0, 0]])
    assert action_space(square).nvec.tolist() == [2, 3, 4, 5]
    assert taken(square, np.array([[1, 2, 3, 4]])).tolist() == [[[2, 3], [3, 4]]]


def test_real_actions_are_clipped_to_their_bounds():
    box = Box(-1, 1, (2,), np.float32)
    found = taken(box, np.array([[0.5, 3.0], [-2.0, 0.0]]))
    assert found.dtype == np.float32
    assert found.tolist() == [[0.5, 1.0], [-1.0, 0.0]]


def test_an_observation_is_a_copy_of_its_buffer():
    buffer = np.zeros((2, 1))
    kept = seen(Box(-1, 1, (1,), np.float64), buffer)
    buffer += 1
    assert kept.tolist() == [[0], [0]]


@pytest.mark.parametrize(
    "source",
    [
        "gym:CartPole-v1",
        "CartPole-v1",
        functools.partial(gymnasium.make, "CartPole-v1"),
        gymnasium.make("CartPole-v1"),
    ],
    ids=["name", "id", "factory", "environment"],
)
def test_whatever_makes_an_environment_is_taken(source):
    env = make(source) if source == "gym:CartPole-v1" else GymnasiumEnvironment(source)
    assert (env.horizon, env.observation_space.shape, env.action_space) == (500, (4,), Discrete(2))
    vector = env.vector(2)
    assert vector.reset(seed=[1, 2])[0].shape == (2, 4)
    vector.close()


def test_an_environment_of_the_users_is_copied_as_it_is():
    own = Corridor()
    own.NOISE = 5.0
    assert GymnasiumEnvironment(own).maker().NOISE == 5.0


def test_one_that_cannot_be_copied_is_played_alone_and_left_open():
    own = Token()
    own.generator = (n for n in range(3))
    env = GymnasiumEnvironment(own)
    assert (env.copies, env.maker().unwrapped) == (1, own)
    with pytest.raises(InputError, match="copies = 2: must be 1, in this process"):
        GymnasiumEnvironment(own, copies=2)


def test_a_horizon_cuts_off():
    for source in ("CartPole-v1", functools.partial(Faulty, length=10**9)):
        env = GymnasiumEnvironment(source, horizon=7)
        assert env.horizon == 7
        copy = env.maker()
        copy.reset(seed=0)
        ends = [copy.step(0)[2:4] for _ in range(7)]
        assert ends[-1][1]
    assert GymnasiumEnvironment(Faulty).horizon == UNENDED


def test_what_is_shown_is_normalised_and_has_the_reward_so_far():
    env = GymnasiumEnvironment(Token, observe="return")
    assert env.observation_space.shape == (4,)
    assert GymnasiumEnvironment(Token, normalise_observations=False).observation_space.shape == (2,)
    normed = GymnasiumEnvironment("CartPole-v1").normed(Norms((1.0,) * 4, (2.0,) * 4))
    assert normed.shown(np.array([1, 3, -1, 1000], np.float32)).tolist() == [0, 1, -1, 10]
    named = GymnasiumEnvironment(Corridor)
    assert named.shown({"place": np.array([0.5]), "left": np.array([[3.0]])}).tolist() == [0.5, 3.0]


class Odd(gymnasium.Env):
    """An environment with spaces of anybody's choice."""

    def __init__(self, observation_space, action_space):
        self.observation_space, self.action_space = observation_space, action_space


def odd(observations=Box(-1, 1, (1,)), actions=Discrete(2)):  # noqa: B008
    return functools.partial(Odd, observations, actions)


@pytest.mark.parametrize(
    ("source", "how", "message"),
    [
        ("gym:CartPol-v1", {}, "did you mean 'gym:CartPole-v1'"),
        ("gym:nomodule:Name-v0", {}, "cannot be had: No module named 'nomodule'"),
        ("CartPole-v1", {"options": {"gravity": 1}}, "options = {'gravity': 1}: do not fit CartPole-v1"),
        ("CartPole-v1", {"vectorization": "asinc"}, "did you mean 'async'"),
        ("CartPole-v1", {"copies": 0}, "copies = 0: must be a whole number of at least 1"),
        ("CartPole-v1", {"horizon": 0}, "horizon = 0: must be a whole number of at least 1"),
        ("CartPole-v1", {"normalise_rewards": 1}, "normalise_rewards = 1: must be True or False"),
        (Token, {"options": {"a": 1}}, "options = {'a': 1}: go with an id"),
        (
            Arms,
            {"observe": "return"},
            "observe = 'return': appends to a Box, and observations are Discrete(1",
        ),
        (odd(observations=Tuple([Discrete(2)])), {}, "must be a Box, a Discrete or a Dict of Box"),
        (odd(observations=Dict(a=Discrete(2))), {}, "must be a Box, a Discrete or a Dict of Box"),
        (odd(actions=MultiBinary(3)), {}, "must be a Discrete, a MultiDiscrete or a Box of real numbers"),
        (odd(actions=Box(0, 5, (1,), np.int64)), {}, "must be a Discrete, a MultiDiscrete or a Box of real"),
        (odd(observations=Box(0, 1, (0,))), {}, "has nothing in it"),
        (odd(actions=Discrete(1)), {}, "action_space = Discrete(1): leaves nothing to choose"),
        (dict, {}, "must make an environment of Gymnasium, and made dict"),
        (3, {}, "must be an environment, the name or the Gymnasium id of one"),
    ],
)
def test_mistakes_are_named(source, how, message):
    with pytest.raises(InputError) as caught:
        GymnasiumEnvironment(source, **how)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_names_are_checked_where_they_are_made():
    with pytest.raises(InputError, match="did you mean 'horizon'"):
        make("gym:CartPole-v1", horizn=3)
    with pytest.raises(InputError, match="observe = 'index': needs Discrete observations"):
        make("gym:CartPole-v1", observe="index")
    with pytest.raises(InputError, match="preset = 'liu2018': is for environments of fenchel's own"):
        make("gym:CartPole-v1", "liu2018")


def test_what_needs_a_pure_function_says_so():
    env = make("gym:CartPole-v1")
    for call in (lambda: env.reset(0), lambda: env.step(0, 0, 0), lambda: env.draw(0, ())):
        with pytest.raises(InputError, match="'CartPole-v1': is played by Gymnasium and is no pure function"):
            call()
    with pytest.raises(InputError, match="does not list what chance can do"):
        exact.enumerate_environment(env)
