"""PPO of Stable-Baselines3, as published, learns what its environment is paid for."""

import gymnasium
import numpy as np
import pytest
import stable_baselines3 as sb3
import torch
from gymnasium.spaces import Box, Discrete

from fenchel import InputError
from fenchel.gymnasium import RiskCallback, RiskWrapper
from fenchel.objectives import MeanVariance

STEPS, SURE, RISKY, SPREAD = 5, 1.0, 1.2, 1.0
LEARNED = 6144


class Bets(gymnasium.Env):
    """Five times a sure reward, or one that is larger on average and scattered."""

    observation_space = Box(0, 1, (1,))
    action_space = Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.count += 1
        reward = RISKY + SPREAD * self.np_random.standard_normal() if action else SURE
        return np.full(1, self.count / STEPS, np.float32), reward, self.count == STEPS, False, {}


def learn(env, callback=None):
    torch.set_num_threads(1)  # a network this small loses on more
    how = {"n_steps": 512, "batch_size": 128, "gamma": 1.0, "learning_rate": 3e-3, "seed": 0, "device": "cpu"}
    model = sb3.PPO("MlpPolicy", env, policy_kwargs={"net_arch": [16]}, **how)
    return model.learn(LEARNED, callback=callback)


def returns(model, env):
    found = []
    for seed in range(300):
        observation, _ = env.reset(seed=seed)
        over = False
        while not over:
            observation, _, over, _, info = env.step(int(model.predict(observation, deterministic=True)[0]))
        found.append(info["risk"]["return"])
    return np.asarray(found)


def test_ppo_gives_up_little_mean_for_much_less_variance():
    objective = MeanVariance(0.5)
    callback = RiskCallback(objective)
    averse = learn(RiskWrapper(Bets(), objective), callback)
    found = returns(averse, RiskWrapper(Bets(), objective))
    plain = returns(learn(RiskWrapper(Bets(), "expectation")), RiskWrapper(Bets(), "expectation"))
    assert plain.mean() == pytest.approx(STEPS * RISKY, abs=4 * SPREAD * (STEPS / 300) ** 0.5)
    assert plain.std() == pytest.approx(SPREAD * STEPS**0.5, rel=0.2)
    assert found.mean() > 0.8 * plain.mean()
    assert found.std() < 0.1 * plain.std()
    assert callback.dual == pytest.approx(STEPS * SURE, abs=0.5)


def test_a_callback_without_a_wrapper_says_what_is_missing():
    with pytest.raises(InputError, match="must be made of environments in a RiskWrapper"):
        learn(Bets(), RiskCallback("mean-variance"))
