"""The wrapper pays ψ(R, y), shows what that takes, and changes y between episodes only."""

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete
from gymnasium.utils.env_checker import check_env

from fenchel import InputError
from fenchel.gymnasium import RiskWrapper
from fenchel.objectives import CVaR, FenchelMeanVariance, MeanVariance

OBJECTIVES = [MeanVariance(0.3), FenchelMeanVariance(0.3), CVaR(0.2)]


class Walk(gymnasium.Env):
    """Up to four steps whose reward is the number drawn before; it ends early after a negative one."""

    action_space = Discrete(2)

    def __init__(self, named=False):
        box = Box(-np.inf, np.inf, (1, 2), np.float64)
        self.named = named
        self.observation_space = Dict(last=box) if named else box

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count, self.last = 0, 0.0
        return self.seen(), {}

    def step(self, action):
        self.count, self.last = self.count + 1, self.np_random.normal(1.0)
        return self.seen(), self.last, self.last < 0, self.count == 4, {"mine": 1}

    def seen(self):
        numbers = np.array([[self.last, self.count]])
        return {"last": numbers} if self.named else numbers


def play(env, seed, action=0):
    """Observations, rewards and the last information of an episode."""
    observation, _ = env.reset(seed=seed)
    seen, paid, over, info = [observation], [], False, {}
    while not over:
        observation, reward, terminated, truncated, info = env.step(action)
        seen, paid, over = [*seen, observation], [*paid, reward], terminated or truncated
    return seen, paid, info


@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("rewards", ["differences", "terminal"])
def test_rewards_add_up_to_the_surrogate(objective, rewards):
    for seed in range(5):
        plain = play(Walk(), seed)[1]
        _, paid, info = play(RiskWrapper(Walk(), objective, dual=1.5, rewards=rewards), seed)
        whole = float(objective.surrogate(sum(plain), 1.5))
        start = float(objective.surrogate(0.0, 1.5)) if rewards == "differences" else 0.0
        assert sum(paid) == pytest.approx(whole - start, abs=1e-9)
        assert info["risk"] == pytest.approx({"return": sum(plain), "surrogate": whole, "dual": 1.5})
        assert info["mine"] == 1
        assert rewards == "differences" or paid[:-1] == [0] * (len(paid) - 1)


def test_the_observation_shows_the_reward_so_far_and_the_step():
    plain_seen, plain, _ = play(Walk(), 3)
    env = RiskWrapper(Walk(), "cvar", observe_step=True, discount=0.5)
    seen, _, info = play(env, 3)
    so_far = np.concatenate([[0], np.cumsum(np.array(plain) * 0.5 ** np.arange(len(plain)))])
    for k, (one, own) in enumerate(zip(seen, plain_seen, strict=True)):
        np.testing.assert_allclose(one, [*np.ravel(own), so_far[k], k])
        assert env.observation_space.contains(one)
    assert info["risk"]["return"] == pytest.approx(so_far[-1])
    named, _, _ = play(RiskWrapper(Walk(named=True), "cvar", observe_step=True), 3)
    np.testing.assert_allclose(named[-1]["reward_so_far"], [sum(plain)], rtol=1e-6)
    assert named[-1]["step"] == [len(plain)]


def test_an_episode_is_paid_by_the_dual_it_began_with():
    env = RiskWrapper(Walk(), MeanVariance(1.0))
    assert env.dual == 0
    env.reset(seed=0)
    env.set_dual(2.0)
    first = env.step(0)[1]
    gained = play(Walk(), 0)[1][0]
    assert first == pytest.approx(gained - gained**2)
    assert play(env, 0)[1][0] == pytest.approx(gained - (gained - 2) ** 2 + 4)


@pytest.mark.filterwarnings("ignore:.*WARN:UserWarning")  # unbounded, wrapped: both are meant
@pytest.mark.parametrize("named", [False, True])
def test_it_is_a_proper_environment(named):
    check_env(RiskWrapper(Walk(named), MeanVariance(1.0), observe_step=True), skip_render_check=True)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"objective": "cvr"}, "did you mean 'cvar'"),
        ({"objective": object()}, "is no expectation of a surrogate"),
        ({"rewards": "final"}, "rewards = 'final': did you mean 'terminal'?"),
        ({"dual": float("nan")}, "dual = nan: must be finite"),
        ({"discount": 0.0}, "discount = 0.0: must be above 0"),
        ({"env": gymnasium.make("Taxi-v4")}, "observation_space = Discrete(500): must be a Box or a Dict"),
    ],
)
def test_mistakes_are_named(how, message):
    with pytest.raises(InputError) as caught:
        RiskWrapper(**{"env": Walk(), "objective": "cvar", **how})
    assert message in str(caught.value)
