"""Optimal stopping, step by step in plain Python: costs are counted, and turned into rewards at the end."""

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
    waiting_cost,
    cost_cap,
    discount,
    start_spread,
):
    """Rewards and ends of each step taken, and the observations before and after each."""
    x = start - start_spread + 2 * start_spread * noise_reset[0]
    costs, observations, dones = [], [(x, 0)], []
    done, t = False, 0
    while not done:
        accepted = actions[t] == 1
        cost = capped(x, cost_cap) if accepted else waiting_cost
        x *= up if noise_steps[t][0] < up_probability else down
        t += 1
        if t == horizon and not accepted:
            cost += discount * capped(x, cost_cap)
        done = accepted or t == horizon
        costs.append(cost)
        observations.append((x, t))
        dones.append(done)
    return -np.array(costs), np.array(observations, float), np.array(dones)


def capped(x, cap):
    return x if cap is None else min(x, cap)
