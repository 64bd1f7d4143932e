"""PPO of Stable-Baselines3, as published, learns what it is paid for: the example of the docs."""

import re
from pathlib import Path

import pytest

from fenchel import InputError
from fenchel.gymnasium import RiskCallback

PAGE = Path(__file__).parents[2] / "docs" / "gymnasium.md"


@pytest.fixture(scope="module")
def example():
    """The names that the page's two blocks on other trainers define."""
    names = {"__name__": "example"}
    blocks = re.findall(r"^```py(?:thon)?\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    for block in (block for block in blocks if "RiskWrapper" in block):
        exec(compile(block, "block", "exec"), names)
    return names


def test_ppo_gives_up_a_little_mean_for_much_less_variance(example):
    """Five bets have mean 5.5 and variance 1.25, five sure rewards 5 and 0: at λ = 1 these are better."""
    plain, averse = example["plain"], example["averse"]
    assert plain.mean() == pytest.approx(5.5, abs=4 * (1.25 / len(plain)) ** 0.5)
    assert plain.var() == pytest.approx(1.25, rel=4 * (2 / len(plain)) ** 0.5)
    assert averse.mean() > 0.9 * plain.mean() - 4 * plain.std() / len(plain) ** 0.5
    assert averse.var() < 0.01 * plain.var()


def test_a_callback_without_a_wrapper_says_what_is_missing(example):
    model = example["PPO"]("MlpPolicy", example["Bets"](), n_steps=64)
    with pytest.raises(InputError, match="must be made of environments in a RiskWrapper"):
        model.learn(64, callback=RiskCallback("mean-variance"))
