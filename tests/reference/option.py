"""The American option, step by step in plain Python."""

import numpy as np


def run(
    noise_reset,
    noise_steps,
    actions,
    *,
    start,
    up,
    down,
    up_probability,
    horizon,
    put_strike,
    call_strike,
    forced,
    discount,
    start_spread,
):
    """Rewards and ends of each step taken, and the observations before and after each."""

    def payoff(x):
        return max(put_strike - x, 0.0) + max(x - call_strike, 0.0)

    x = start - start_spread + 2 * start_spread * noise_reset[0]
    rewards, observations, dones = [], [(x, 0)], []
    for t in range(horizon):
        executed_for = payoff(x)
        x = x * up if noise_steps[t][0] < up_probability else x * down
        matures = t == horizon - 1
        if actions[t] == 1:
            reward = executed_for
        elif matures and forced:
            reward = discount * payoff(x)
        else:
            reward = 0.0
        rewards.append(reward)
        observations.append((x, t + 1))
        dones.append(actions[t] == 1 or matures)
        if dones[-1]:
            break
    return np.array(rewards), np.array(observations, float), np.array(dones)
