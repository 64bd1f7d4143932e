"""Episodes that somebody else begins, baselines that are learned, and the bonus for entropy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from estimators.support import averages, case, errors
from jax.flatten_util import ravel_pytree

from fenchel.envs import make
from fenchel.errors import InputError
from fenchel.estimators import ScoreFunction
from fenchel.estimators.critic import KEPT, LinearCritic, TableCritic, critic_for
from fenchel.objectives import Expectation, MeanVariance
from fenchel.policies import Tabular, make_policy

pytestmark = pytest.mark.slow

KEY = jax.random.key(11)


def tabular(env):
    return Tabular(jax.random.normal(KEY, (env.state_count, 1)))


def played(estimator, policy, key=KEY):
    return estimator.sample(estimator.draw(key, policy), policy)


def test_led_episodes_repeat_their_action_and_count_for_nothing_until_the_policy_takes_over():
    env = make("stopping", "tradeoff", "index", horizon=6)
    estimator, policy = ScoreFunction(env, 40, led=30), tabular(env)
    noise = estimator.draw(KEY, policy)
    episodes = estimator.sample(noise, policy)
    lead, steps = noise.lead, np.arange(6)[:, None]
    ahead = steps < np.asarray(lead.length)[None]
    actions, alive, own = (np.asarray(x)[:, 10:] for x in (episodes.actions, episodes.alive, episodes.own))
    assert np.array_equal(np.where(ahead, actions, 0), np.where(ahead, np.asarray(lead.action)[None], 0))
    assert np.array_equal(own, alive & ~ahead)
    assert np.array_equal(np.asarray(episodes.own)[:, :10], np.asarray(episodes.alive)[:, :10])
    assert set(np.asarray(lead.action).tolist()) == {0, 1}
    assert set(np.asarray(lead.length).tolist()) == set(range(6))
    np.testing.assert_array_equal(episodes.own_returns, episodes.returns[:10])


def test_unled_episodes_are_the_same_with_and_without_leads_beside_them():
    env = make("option", observe="index", horizon=5)
    policy = tabular(env)
    plain, led = (played(ScoreFunction(env, 12, led=count), policy) for count in (0, 4))
    np.testing.assert_array_equal(plain.returns[:8], led.own_returns)


def test_a_state_that_only_leads_pass_through_is_not_learned_about():
    env = make("option", observe="index", horizon=5)
    policy = Tabular(jnp.full((env.state_count, 1), 30.0))  # executes at once
    estimator = ScoreFunction(env, 400, "batch", led=399)
    episodes = played(estimator, policy)
    slope = np.asarray(estimator.direction(policy, episodes, Expectation(), jnp.zeros(())).table)[:, 0]
    chosen = np.unique(np.asarray(episodes.observations)[np.asarray(episodes.own)])
    passed = np.unique(np.asarray(episodes.observations)[np.asarray(episodes.alive)])
    assert len(chosen) > 10
    assert set(passed) >= set(chosen)
    assert np.all(slope[np.setdiff1d(np.arange(env.state_count), chosen)] == 0)


@pytest.mark.parametrize("kind", ["tabular", "linear"])
def test_a_value_learned_from_the_batch_leaves_the_direction_unbiased(kind):
    here = case("option", kind)
    mean, _, mean_slope, variance_slope = here.moments()
    estimator = ScoreFunction(here.env, 8, "value")

    def one(noise):
        episodes = estimator.sample(noise, here.policy)
        goal = MeanVariance(0.5)
        return ravel_pytree(estimator.direction(here.policy, episodes, goal, jnp.asarray(mean)))[0]

    found = averages(lambda key: estimator.draw(key, here.policy), one, 6000)
    assert errors(found, mean_slope - 0.5 * variance_slope).max() < 4


def test_a_table_of_values_is_the_discounted_mean_of_visits():
    env = make("option", observe="index", horizon=4)
    policy, critic = tabular(env), TableCritic(env.state_count)
    sums, counts, memory = np.zeros(env.state_count), np.zeros(env.state_count), critic.init()
    for key in jax.random.split(KEY, 3):
        episodes = played(ScoreFunction(env, 16, led=6), policy, key)
        sums, counts = KEPT * sums, KEPT * counts
        for step, one in zip(*np.nonzero(np.asarray(episodes.own)), strict=True):
            sums[episodes.observations[step, one]] += episodes.returns[one]
            counts[episodes.observations[step, one]] += 1
        memory = critic.update(memory, episodes.returns, episodes)
    np.testing.assert_allclose(memory[0][counts > 0], (sums / np.maximum(counts, 1e-9))[counts > 0])
    np.testing.assert_allclose(memory[1], counts)


def test_an_advantage_is_what_came_and_what_is_known_minus_what_was_expected():
    env = make("option", observe="index", horizon=4)
    policy, critic = tabular(env), TableCritic(env.state_count)
    episodes = played(ScoreFunction(env, 16), policy)
    memory = critic.update(critic.init(), episodes.returns, episodes)
    found = np.asarray(critic.advantage(memory, episodes.returns, episodes))
    values, own = np.asarray(memory[0])[np.asarray(episodes.observations)], np.asarray(episodes.own)
    for step, one in np.ndindex(found.shape):
        ret = float(episodes.returns[one])
        goes_on = step + 1 < 4 and own[step + 1, one]
        after = critic.trust * values[step + 1, one] + (1 - critic.trust) * ret if goes_on else ret
        expected = after - values[step, one] if own[step, one] else 0
        assert found[step, one] == pytest.approx(expected, abs=1e-12)


def test_a_regression_finds_a_value_that_is_quadratic_in_what_is_seen():
    env = make("stopping", "tradeoff", "return", horizon=5)
    policy, critic = make_policy("linear", env), critic_for(env)
    assert isinstance(critic, LinearCritic)
    episodes = played(ScoreFunction(env, 300), policy)
    first = np.asarray(episodes.observations)[0]
    weights = jnp.asarray(2 - 3 * np.full(300, first[0, 0]))
    memory = critic.update(critic.init(), weights, episodes)
    own = np.asarray(episodes.own)
    np.testing.assert_allclose(np.asarray(critic.values(memory, episodes))[own], float(weights[0]), rtol=1e-2)


def test_a_critic_lowers_the_scatter_of_the_direction():
    env = make("option", observe="index", horizon=8)
    policy = tabular(env)

    def scatter(name):
        estimator = ScoreFunction(env, 64, name)
        memory = estimator.init(policy)
        goal, dual = MeanVariance(1.0), jnp.asarray(0.1)
        for key in jax.random.split(KEY, 20):
            memory = estimator.remember(memory, policy, played(estimator, policy, key), goal, dual)

        def one(noise):
            episodes = estimator.sample(noise, policy)
            known = estimator.remember(memory, policy, episodes, goal, dual)
            return estimator.direction(policy, episodes, goal, dual, known).table[:, 0]

        found = averages(lambda key: estimator.draw(key, policy), one, 500, seed=3)
        return float(np.sum(found[1] ** 2))

    assert scatter("critic") < 0.7 * scatter("batch")


def test_entropy_pulls_towards_chance_in_units_of_the_advantage():
    env = make("option", observe="index", horizon=3)
    policy = tabular(env)
    estimator = ScoreFunction(env, 50, "batch")
    episodes = played(estimator, policy)
    about = policy, episodes, Expectation(), jnp.zeros(())
    plain, with_none = (estimator.direction(*about, None, x) for x in (None, jnp.zeros(())))
    advantage = estimator.advantage(episodes.returns, episodes)
    typical = np.sqrt(np.sum(np.asarray(advantage) ** 2) / np.sum(np.asarray(episodes.own)))
    np.testing.assert_allclose(with_none.table * typical, plain.table, rtol=1e-6)
    pulled = estimator.direction(*about, None, jnp.asarray(0.3)).table - with_none.table
    visits = np.bincount(np.asarray(episodes.observations)[np.asarray(episodes.own)], minlength=6)
    logits = np.asarray(policy.table)[:, 0]
    chance = 1 / (1 + np.exp(-logits))
    np.testing.assert_allclose(pulled[:, 0], 0.3 * visits / 50 * -logits * chance * (1 - chance), atol=1e-12)


@pytest.mark.parametrize(("led", "message"), [(8, "leave episodes to the policy"), (-1, "whole number")])
def test_bad_leads_are_refused(led, message):
    with pytest.raises(InputError, match=message):
        ScoreFunction(make("option"), 8, led=led)
