"""What training learns: known values on the three domains. Settings that the evidence in the tests is for."""

import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from fenchel import make, sweep, train
from fenchel.envs import AbstractUniformEnvironment, ObserveReturn, TimeStep
from fenchel.objectives import MeanVariance

pytestmark = pytest.mark.slow

EVALUATED = 100_000


class Topping(AbstractUniformEnvironment):
    """A coin pays 0 or 1; then action 1 adds 1, and action 0 adds nothing. Only the step is observed."""

    noise_size = 1
    horizon: int = 2
    discount: float = 1.0

    @property
    def observation_space(self):
        return Box(0, 2, (1,), dtype=np.float64)

    @property
    def action_space(self):
        return Discrete(2)

    def reset(self, noise):
        return jnp.zeros((), jnp.int32), jnp.zeros(1)

    def step(self, noise, state, action):
        paid = jnp.where(state == 0, noise[0] < 0.5, action == 1).astype(float)
        after = state + 1
        return after, TimeStep(after[None].astype(float), paid, after >= 2, jnp.zeros((), bool))


def test_pg_on_the_option_holds_it():
    """Holding until forced exercise is worth 0.2871; the first policy, half of whose steps execute, 0.05."""
    for result in sweep("option", "pg", seed=range(2), episodes=100_000).rows:
        found = result.evaluate(EVALUATED)
        assert result.status == "done"
        assert found.mean - 4 * found.standard_error > 0.27


def test_mini_batches_of_pg_come_near_the_highest_mean():
    """0.295252 is the mean of the certified optimum at λ = 0.01."""
    result = train(
        "option",
        "pg",
        episodes=400_000,
        batch_size=100,
        control_variate="batch",
        optimizer="adam",
        policy_step_size=0.05,
    )
    found = result.evaluate(EVALUATED)
    assert 0.287 < found.mean < 0.2955 + 4 * found.standard_error


def test_mean_variance_on_the_option_comes_within_a_percent_of_the_certified_optimum():
    """The optimum of J − Var is 0.241988."""
    table = sweep(
        "option",
        "mvp",
        policy="tabular",
        objective="mean-variance",
        seed=range(4),
        episodes=512_000,
        batch_size=1024,
        control_variate="batch",
        optimizer="adam",
        policy_step_size=0.1,
    )
    for result in table.rows:
        returns = result.returns(400_000)
        scatter = np.std(returns - (returns - returns.mean()) ** 2) / len(returns) ** 0.5
        value = returns.mean() - returns.var()
        assert value - 2 * scatter > 0.2396
        assert value < 0.241988 + 4 * scatter
        assert result.dual == pytest.approx(returns.mean(), abs=0.02)


@pytest.mark.parametrize(
    "settings",
    [
        {"episodes": 100_000},
        {"episodes": 400_000, "batch_size": 16, "policy_step_size": 0.05},
    ],
    ids=["single episodes", "mini-batches"],
)
def test_mvp_learns_to_accept_at_once_however_heavy_the_tails(settings):
    """Returns of the first policy go down to −1.3 million; Adam bounds what one of them can do."""
    table = sweep("stopping", "mvp", seed=range(4), optimizer="adam", **settings)
    for result in table.rows:
        found = result.evaluate(EVALUATED)
        assert found.mean == pytest.approx(-1.25, rel=0.01)
        assert found.std < 0.02
        assert result.dual == pytest.approx(-1.25 + 1 / 2, abs=0.01)


def value_and_error(result, risk_aversion):
    """J_λ of fresh episodes, and its standard error."""
    returns = result.returns(EVALUATED)
    influence = returns - risk_aversion * (returns - returns.mean()) ** 2
    return influence.mean(), influence.std() / len(returns) ** 0.5


def test_who_sees_the_return_so_far_does_better():
    """At λ = 3 adding to a 0 alone is worth 1, surely; blindly the best is to add always, worth 1.5 − 3/4.

    Blindly, adding never is a local optimum too, worth 1/2 − 3/4, and the way leads there below chances of
    1/3, or while y is below 5/6. So y begins at the mean of the first policy, which is 1.
    """
    how = {"objective": "mean-variance", "risk_aversion": 3.0, "episodes": 64_000, "batch_size": 64}
    how |= {"control_variate": "batch", "optimizer": "adam", "policy_step_size": 0.05, "dual": 1.0}
    blind, seeing = (
        value_and_error(train(env, "mvp", **how), 3.0) for env in (Topping(), ObserveReturn(Topping()))
    )
    assert blind[0] == pytest.approx(0.75, abs=0.03)
    assert blind[0] < 0.75 + 4 * blind[1]
    assert seeing[0] - blind[0] > 0.15 + 4 * np.hypot(seeing[1], blind[1])
    assert seeing[0] < 1 + 1e-9


def test_seeing_the_return_so_far_costs_little_where_it_says_nothing():
    """The option pays once, at its end; at λ = 1 executing at once is worth 0.14, and the optimum 0.242."""
    table = sweep(make("option", observe="return"), seed=range(2), episodes=100_000)
    for result in table.rows:
        value, error = value_and_error(result, 1.0)
        assert value - 4 * error > 0.2


def test_pg_on_the_portfolio_invests_and_mvp_reduces_the_variance():
    """Always investing has mean 29.49 and standard deviation 36.15."""
    how = {"episodes": 100_000, "batch_size": 50, "control_variate": "batch", "optimizer": "adam"}
    neutral = train("portfolio", "pg", **how).evaluate(EVALUATED)
    assert neutral.mean == pytest.approx(29.49, abs=4 * neutral.standard_error + 0.2)
    table = sweep("portfolio", "mvp", risk_aversion=[0.01, 0.03, 0.1], **how)
    stds = [neutral.std, *(row["std"] for row in table.evaluate(EVALUATED))]
    assert stds == sorted(stds, reverse=True)
    averse = table.rows[-1].evaluate(EVALUATED, objective=MeanVariance(0.1))
    assert averse.std < 6
    assert averse.value > max(1.0512, neutral.mean - 0.1 * neutral.std**2)
