"""The portfolio as a ledger of purchases, in money, in the order of events of a step."""

import numpy as np

SLACK = 1e-5
RUIN = 1e-6


def run(
    noise_reset,
    noise_steps,
    actions,
    *,
    liquid_rate,
    rate_low,
    rate_high,
    switch_probability,
    start_rate,
    default_probability,
    maturity,
    invest_fraction,
    invest_base,
    rate_fixed,
    reward,
    startup_cash,
    horizon,
    discount,
):
    """Rewards and ends of each step, and what the investor sees when acting in it."""
    del discount
    rates = {"low": rate_low, "high": rate_high}
    mean = (rate_low + rate_high) / 2
    other = {"low": "high", "high": "low"}
    cash, rate, ledger = startup_cash, start_rate, []
    wealths, observations = [], []
    for k in range(1, horizon + 1):
        switch, default = noise_reset if k == 1 else noise_steps[k - 2]
        if switch < switch_probability:
            rate = other[rate]
        cash *= liquid_rate
        for purchase in [p for p in ledger if p["due"] == k]:
            locked = purchase["rate"] if rate_fixed == "purchase" else rates[rate]
            cash += 0.0 if default < default_probability else purchase["cost"] * locked
        ledger = [p for p in ledger if p["due"] > k]
        wealth = cash + sum(p["cost"] for p in ledger)
        counted = max(wealth, RUIN * startup_cash)
        held = [sum(p["cost"] for p in ledger if p["due"] == k + j) for j in range(1, maturity + 1)]
        observations.append([cash / counted, *(cost / counted for cost in held), rates[rate] - mean])
        wealths.append(wealth)
        base = {"wealth": wealth, "cash": cash, "initial": startup_cash}[invest_base]
        wish = invest_fraction * base
        if actions[k - 1] == 1 and wish <= cash * (1 + SLACK):
            cost = min(wish, cash)
            cash -= cost
            ledger.append({"due": k + maturity, "cost": cost, "rate": rates[rate]})
    dones = np.arange(1, horizon + 1) == horizon
    return rewards_of(np.array(wealths) / startup_cash, reward, startup_cash), np.array(observations), dones


def rewards_of(wealth, reward, startup_cash):
    """The action of step k is rewarded by the change of wealth up to the investor's next turn."""
    value = {"growth": wealth, "money": wealth * startup_cash, "log": np.log(np.maximum(wealth, RUIN))}[
        reward
    ]
    turns = np.append(value, value[-1])
    rewards = np.diff(turns)
    rewards[0] += value[0]
    return rewards
