"""The portfolio's exact moments, the best schedule, and the bound that no policy exceeds."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fenchel import evaluate, make_policy
from fenchel.envs import AmericanOption, ObserveIndex, ObserveReturn, Portfolio, make
from fenchel.errors import InputError
from fenchel.exact import frontier, played
from fenchel.exact.linear import moments
from fenchel.exact.portfolio import portfolio_gradient, portfolio_moments, portfolio_optimum
from fenchel.exact.relaxation import portfolio_upper
from fenchel.exact.schedule import best_schedule
from fenchel.exact.solvency import require_cash, shortages
from fenchel.objectives import MeanVariance
from fenchel.policies import Raw, Tabular
from fenchel.policies.gaussian import LinearGaussian
from fenchel.policies.tabular import DirectTabular

pytestmark = pytest.mark.slow

LIVELY = {"switch_probability": 0.3, "default_probability": 0.2, "liquid_rate": 1.02}
SMALL = {
    "wealth": Portfolio(horizon=5, maturity=2, **LIVELY),
    "cash": Portfolio(horizon=5, maturity=2, invest_base="cash", invest_fraction=0.4, **LIVELY),
    "initial": Portfolio(horizon=5, maturity=2, invest_base="initial", **LIVELY),
    "rate at maturity": Portfolio(horizon=5, maturity=2, rate_fixed="maturity", **LIVELY),
    "long wait": Portfolio(horizon=5, maturity=7, invest_fraction=0.1, **LIVELY),
    "money": Portfolio(horizon=4, maturity=2, reward="money", startup_cash=50.0, start_rate="high", **LIVELY),
    "shrinking": Portfolio(horizon=5, maturity=3, invest_fraction=0.1, liquid_rate=0.95),
    "sure": Portfolio(horizon=5, maturity=2, switch_probability=0.0, default_probability=0.0),
    "one step": Portfolio(horizon=1),
}
TIGHT = {
    "two": Portfolio(horizon=5, maturity=2, invest_fraction=0.45, default_probability=0.3),
    "three": Portfolio(horizon=5, maturity=3, invest_fraction=0.3, default_probability=0.3, liquid_rate=1.05),
    "alternating": Portfolio(horizon=5, maturity=2, invest_fraction=0.45, switch_probability=1.0),
    "initial": Portfolio(horizon=5, maturity=2, invest_fraction=0.4, invest_base="initial", liquid_rate=1.05),
    "initial, shrinking": Portfolio(
        horizon=5, maturity=2, invest_fraction=0.3, invest_base="initial", liquid_rate=0.9
    ),
}
CAUTIOUS = {
    "shrinking": Portfolio(horizon=5, maturity=3, invest_fraction=0.3, liquid_rate=0.95),
    "safe": Portfolio(horizon=5, maturity=3, invest_fraction=0.35, default_probability=0.0),
    "safe, initial": Portfolio(
        horizon=5, maturity=2, invest_fraction=0.5, default_probability=0.0, invest_base="initial"
    ),
}
AVERSIONS = (0.01, 0.3, 3.0)


def over(table):
    return pytest.mark.parametrize("env", table.values(), ids=table.keys())


def random_chances(env, seed=0):
    return np.random.default_rng(seed).random((env.horizon, 2))


def direct(chances):
    invest = np.ravel(chances)
    return DirectTabular(jnp.stack([1 - invest, invest], axis=1))


def schedule(*steps, horizon=50):
    chances = np.zeros((horizon, 2))
    chances[list(steps)] = 1
    return chances


@over(SMALL)
def test_moments_equal_enumeration(env):
    chances = random_chances(env)
    require_cash(env, chances)
    found = portfolio_moments(env, direct(chances))
    law = played(ObserveIndex(env), direct(chances)).law
    np.testing.assert_allclose([found.mean, found.second], [law.mean, law.second_moment], rtol=1e-12)
    np.testing.assert_allclose(found.std, law.std, rtol=1e-6, atol=1e-6 * law.mean)


@pytest.mark.parametrize(
    "env",
    [Portfolio(), Portfolio(horizon=12, maturity=1, invest_fraction=0.3, rate_fixed="maturity")],
    ids=["default", "no wait"],
)
def test_moments_equal_simulation(env):
    steps = np.arange(env.horizon) % 4 == 1
    policy = direct(random_chances(env) * steps[:, None])
    found = portfolio_moments(env, policy)
    seen = evaluate(ObserveIndex(env), policy, MeanVariance(0.1), episodes=40_000)
    assert abs(found.mean - seen.mean) < 4 * seen.standard_error
    # heavy right tails: the error of the variance is that of the mean of squares, measured in batches
    batches = [evaluate(ObserveIndex(env), policy, episodes=4000, seed=1 + k).std ** 2 for k in range(10)]
    assert abs(found.variance - np.mean(batches)) < 4 * np.std(batches, ddof=1) / 10**0.5


def test_observers_do_not_matter():
    env = SMALL["wealth"]
    policy = direct(random_chances(env))
    plain = portfolio_moments(env, policy)
    for wrapped in (ObserveIndex(env), ObserveReturn(env), ObserveIndex(ObserveReturn(env))):
        assert portfolio_moments(wrapped, policy) == plain


@over({name: SMALL[name] for name in ("wealth", "initial", "rate at maturity")})
def test_gradients_equal_finite_differences(env):
    chances = jnp.asarray(random_chances(env))

    @jax.jit
    def value(chances):
        found = moments(env, chances)
        return found.mean - 0.3 * found.variance

    slopes = jax.grad(value)(chances)
    size = float(jnp.max(jnp.abs(slopes)))
    for place in np.ndindex(chances.shape):
        step = 1e-4  # J and M are linear in each chance, so the central difference of J − λ Var is exact
        apart = (value(chances.at[place].add(step)) - value(chances.at[place].add(-step))) / (2 * step)
        np.testing.assert_allclose(slopes[place], apart, rtol=1e-6, atol=1e-7 * size)


def test_gradients_reach_the_parameters_of_any_policy():
    env = SMALL["cash"]
    policy = make_policy("mlp", ObserveIndex(env), key=jax.random.key(3))

    @eqx.filter_jit
    def mean(policy):
        return portfolio_moments(env, policy).mean

    slopes = eqx.filter_grad(mean)(policy)
    by_name = portfolio_gradient(env, policy, lambda moments: moments.mean)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12), slopes, by_name)
    moved = jax.tree.map(lambda leaf: jnp.sign(leaf) * 0.1, slopes)
    step = 1e-5

    def shifted(sign):
        return mean(eqx.apply_updates(policy, jax.tree.map(lambda leaf: sign * step * leaf, moved)))

    along = sum(jnp.vdot(a, b) for a, b in zip(jax.tree.leaves(slopes), jax.tree.leaves(moved), strict=True))
    np.testing.assert_allclose((shifted(1) - shifted(-1)) / (2 * step), along, rtol=1e-6)


def first_shortages(env):
    """All sets of steps, and the first step in which a path that invests within one lacks cash."""
    world, first = env.outcomes(), env.first_outcomes()
    states, _ = jax.tree.map(np.asarray, jax.vmap(env.reset)(jnp.asarray(first.noise)))
    chosen = np.zeros((len(first.probability), env.horizon), bool)
    sets = (np.arange(2**env.horizon)[:, None] >> np.arange(env.horizon)) % 2 == 1
    found = np.full(len(sets), env.horizon)
    step, base = jax.jit(jax.vmap(env.step)), jax.jit(jax.vmap(env._base))
    for k in range(env.horizon):
        wish = env.invest_fraction * np.asarray(base(states))
        short = np.unique(chosen[wish > states.cash * (1 + 1e-9)], axis=0)
        within = ~np.any(short[None] & ~sets[:, None], axis=2)
        found = np.where(np.any(within, axis=1) & sets[:, k] & (found == env.horizon), k, found)
        count, fan = len(chosen), 2 * len(world.probability)
        states = jax.tree.map(lambda x, fan=fan: np.repeat(x, fan, axis=0), states)
        actions = np.tile(np.repeat([0, 1], fan // 2), count)
        noise = np.tile(world.noise, (2 * count, 1))
        states, _ = jax.tree.map(np.asarray, step(noise, states, actions))
        chosen = np.repeat(chosen, fan, axis=0)
        chosen[:, k] = actions == 1
    return sets, found


def claimed(env, sets):
    short = shortages(env, sets)
    return np.where(np.any(short, axis=1), np.argmax(short, axis=1), env.horizon)


@over(TIGHT)
def test_shortages_equal_brute_force(env):
    sets, found = first_shortages(env)
    assert 0 < np.sum(found < env.horizon) < len(sets)
    np.testing.assert_array_equal(claimed(env, sets), found)


@over(CAUTIOUS)
def test_no_shortage_is_overlooked(env):
    sets, found = first_shortages(env)
    assert np.all(claimed(env, sets) <= found)
    assert np.any(claimed(env, sets) == env.horizon)


def test_a_share_of_the_cash_is_never_short():
    assert not np.any(shortages(Portfolio(invest_base="cash"), np.ones(50, bool)))


@over({name: SMALL[name] for name in ("wealth", "money")})
@pytest.mark.parametrize("risk_aversion", AVERSIONS)
def test_the_bound_holds_for_all_policies(env, risk_aversion):
    optimum = frontier(env).best(risk_aversion)
    upper = portfolio_upper(env, risk_aversion, iterations=10)
    assert optimum.lower <= upper
    assert upper - optimum.value < 0.1 * optimum.value


@over({name: SMALL[name] for name in ("wealth", "cash", "sure")})
def test_the_best_schedule_is_the_best_of_all(env):
    """By enumeration of all schedules of the steps that can matter."""
    risk_aversion = 0.3
    rows = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    chosen = np.stack(np.meshgrid(*[np.arange(4)] * (env.horizon - 1), indexing="ij"), -1).reshape(
        -1, env.horizon - 1
    )
    chances = np.zeros((len(chosen), env.horizon, 2))
    chances[:, :-1] = rows[chosen]
    solvent = ~np.any(shortages(env, np.any(chances > 0, axis=2)), axis=1)
    found = jax.vmap(lambda one: moments(env, one))(jnp.asarray(chances[solvent]))
    best = np.max(found.mean - risk_aversion * found.variance)
    mine = moments(env, best_schedule(env, risk_aversion, restarts=8))
    np.testing.assert_allclose(mine.mean - risk_aversion * mine.variance, best, rtol=1e-10)


@pytest.fixture(scope="module")
def optimum():
    return portfolio_optimum(make("portfolio", observe="index"), 0.1, restarts=16, iterations=20)


def test_the_optimum_is_what_it_says(optimum):
    env = make("portfolio", observe="index")
    found = portfolio_moments(env, optimum.policy)
    np.testing.assert_allclose([found.mean, found.std], [optimum.mean, optimum.std], rtol=1e-10)
    np.testing.assert_allclose(optimum.value, optimum.mean - 0.1 * optimum.std**2, rtol=1e-10)
    assert optimum.value - 1e-6 <= optimum.lower <= optimum.value <= optimum.upper
    assert optimum.gap == optimum.upper - optimum.lower
    assert optimum.value > 4.3
    assert 9.6 < optimum.upper < 9.9
    seen = evaluate(env, optimum.policy, episodes=20_000)
    assert abs(seen.mean - optimum.mean) < 4 * seen.standard_error


def test_no_policy_exceeds_the_bound(optimum):
    """Always; and until the wealth that is expected reaches a target, which comes close to the bound."""
    env = make("portfolio")
    index = make("portfolio", observe="index")
    always = evaluate(index, direct(schedule(*range(50))), MeanVariance(0.1), episodes=20_000)
    assert always.value < optimum.upper
    returns = until_target(env, 15.5, 20_000)
    parts = [np.mean(part) - 0.1 * np.var(part) for part in np.split(returns, 20)]
    assert np.mean(parts) - 4 * np.std(parts) / 20**0.5 < optimum.upper
    # the bound is close, and what policies of step and rate lose is that they do not see their wealth
    assert np.mean(parts) > 0.93 * optimum.upper > 2 * optimum.value


def until_target(env, target, count):
    """Returns of the policy that invests while cash and what promises are worth are below a target."""

    def play(noise):
        def advance(carry, now):
            state, so_far = carry
            expected = state.cash + (1 - env.default_probability) * jnp.sum(state.promises)
            after, seen = env.step(now, state, (expected < target).astype(int))
            return (after, so_far + seen.reward), None

        state, _ = env.reset(noise[0])
        return jax.lax.scan(advance, (state, jnp.zeros(())), noise[1:])[0][1]

    noise = env.draw(jax.random.key(5), (count, env.horizon + 1))
    return np.asarray(jax.jit(jax.vmap(play))(noise))


def test_the_same_seed_gives_the_same_bound():
    env = SMALL["wealth"]
    assert portfolio_upper(env, 1.0, iterations=3) == portfolio_upper(env, 1.0, iterations=3)


def test_more_iterations_never_raise_the_bound():
    found = [portfolio_upper(SMALL["wealth"], 1.0, iterations=n) for n in (1, 4, 8)]
    assert found == sorted(found, reverse=True)


def refused(match, call, *given, **named):
    with pytest.raises(InputError, match=match):
        call(*given, **named)


def test_bad_input():
    env = Portfolio()
    refused("short of cash in step 5", portfolio_moments, env, direct(schedule(*range(50))))
    borrowed = portfolio_moments(env, direct(schedule(*range(50))), exact=False)
    assert 29 < borrowed.mean < 30  # little is: the true mean is 29.49
    refused("reward", portfolio_moments, Portfolio(reward="log"), direct(schedule()))
    refused("discount", portfolio_optimum, Portfolio(discount=0.9), 1.0)
    refused("env", portfolio_optimum, AmericanOption(), 1.0)
    refused("states", portfolio_moments, env, direct(schedule(horizon=4)))
    refused("finitely many", portfolio_moments, env, LinearGaussian(jnp.zeros(1), jnp.zeros((1, 6)), Raw(6)))
    refused("risk_aversion", portfolio_optimum, env, 0.0)
    refused("risk_aversion", portfolio_upper, env, -1.0)
    refused("restarts", portfolio_optimum, env, 1.0, restarts=0)
    refused("iterations", portfolio_upper, env, 1.0, iterations=0)
    refused("short", portfolio_moments, env, Tabular(jnp.zeros((100, 1))))
