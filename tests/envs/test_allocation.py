"""Allocation and execution against plain NumPy, and the markets that they draw from."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import optimize

from fenchel.envs import Allocation, Execution
from fenchel.envs.limits import project
from fenchel.envs.markets import BootstrapMarket, GaussianMarket, mirrored
from fenchel.errors import InputError

MEAN, COVARIANCE = (1.05, 1.02), ((0.04, 0.01), (0.01, 0.02))


def played(env, noise, actions):
    """Rewards and the last observation."""
    state, seen = env.reset(noise[0])
    step, rewards = jax.jit(env.step), []
    for now, action in zip(noise, actions, strict=True):
        state, after = step(now, state, action)
        rewards.append(float(after.reward))
        seen = after.observation
    assert bool(after.terminated)
    return rewards, np.asarray(seen)


@pytest.mark.parametrize("cost", [0.0, 0.01])
def test_wealth_is_what_plain_numpy_makes_of_it(cost):
    env = Allocation(horizon=3, riskless=1.01, mean=MEAN, covariance=COVARIANCE, cost=cost, start_wealth=2.0)
    rng = np.random.default_rng(0)
    noise, actions = rng.normal(size=(3, 2)), rng.normal(size=(3, 2))
    rewards, seen = played(env, noise, actions)
    wealth, held = 2.0, np.zeros(2)
    for now, amounts in zip(noise, actions, strict=True):
        gross = np.array(MEAN) + np.linalg.cholesky(np.array(COVARIANCE)) @ now
        cash = wealth - cost * np.abs(amounts - held).sum() - amounts.sum()
        held = amounts * gross
        wealth = 1.01 * cash + held.sum()
    np.testing.assert_allclose(rewards, [0, 0, wealth], atol=1e-12)
    shown = [wealth - 2 * 1.01**3, *(held if cost else []), 3]
    np.testing.assert_allclose(seen, shown, atol=1e-12)


@pytest.mark.parametrize(("budget", "short"), [(1.0, 0.0), (1.5, 0.3), (0.8, None), (None, 0.2)])
def test_projection_is_the_nearest_point_within_the_limits(budget, short):
    rng = np.random.default_rng(1)
    limited = jax.jit(lambda a: project(a, *(None if x is None else jnp.asarray(x) for x in (budget, short))))
    for _ in range(5):
        wanted = rng.normal(size=3)
        # u = p - q with p, q ≥ 0 and Σ(p + q) the gross amount
        limits = {"type": "ineq", "fun": lambda z: (9.0 if budget is None else budget) - z.sum()}
        found = optimize.minimize(
            lambda z, a=wanted: np.sum((z[:3] - z[3:] - a) ** 2),
            np.full(6, 0.01),
            bounds=[(0, None)] * 3 + [(0, short)] * 3,
            constraints=[limits],
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        np.testing.assert_allclose(limited(jnp.asarray(wanted)), found.x[:3] - found.x[3:], atol=1e-5)


def test_projection_has_the_derivative_of_finite_differences():
    wanted, step = jnp.array([0.9, 0.7, -0.6, 0.2]), 1e-6
    limited = jax.jit(lambda a: project(a, jnp.asarray(1.0), jnp.asarray(0.1)))
    found = jax.jacobian(limited)(wanted)
    near = [
        (limited(wanted.at[i].add(step)) - limited(wanted.at[i].add(-step))) / (2 * step) for i in range(4)
    ]
    np.testing.assert_allclose(found, np.stack(near, axis=1), atol=1e-6)


def test_nothing_is_held_without_wealth():
    env = Allocation(leverage=2.0)
    assert env.allowed(jnp.ones(3), jnp.asarray(-0.5)).tolist() == [0, 0, 0]


def test_mirrored_samples_have_exact_moments_and_normal_tails():
    drawn = jax.vmap(lambda key: jax.random.normal(key, (2, 64, 3)))(jax.random.split(jax.random.key(0), 400))
    made = np.asarray(jax.jit(jax.vmap(lambda x: mirrored(x, 64)))(drawn))
    table = np.moveaxis(made, 2, 1).reshape(400, 128, 6)
    np.testing.assert_allclose(table.mean(axis=1), 0, atol=1e-12)
    products = np.einsum("kmi,kmj->kij", table, table) / 128
    np.testing.assert_allclose(products, np.broadcast_to(np.eye(6), products.shape), atol=1e-8)
    fourth = (table**4).mean(axis=1).ravel()
    error = fourth.std(ddof=1) / len(fourth) ** 0.5
    assert abs(fourth.mean() - 3 * 64 / 66) < 4 * error  # uniform on a sphere in 64 dimensions, by symmetry


@pytest.mark.parametrize("block", [1.0, 4.0])
def test_rows_are_drawn_evenly_and_in_blocks(block):
    table = jnp.arange(10.0)[:, None] + 1
    market = BootstrapMarket(table, block)
    steps, count = 5, 4000
    for draw in (market.draw, market.spread):
        noise = draw(jax.random.key(3), (steps, count))
        first = market.draw(jax.random.key(4), (count,))

        def advance(place, now):
            return jax.vmap(market.move)(now, place)

        _, rows = jax.lax.scan(advance, jax.vmap(market.start)(first), noise)
        rows = np.asarray(rows)[..., 0] - 1
        shares = np.stack([(rows == row).mean(axis=1) for row in range(10)])
        assert np.abs(shares - 0.1).max() < 4 * (0.09 / count) ** 0.5
        follows = ((rows[:-1] + 1) % 10 == rows[1:]).mean()
        expected = 1 - 1 / block + 0.1 / block
        spread = (expected * (1 - expected) / (count * (steps - 1))) ** 0.5
        assert abs(follows - expected) < 4 * spread


def test_execution_costs_what_the_price_path_says():
    env = Execution(horizon=3, shares=100.0, volatility=0.5, period=0.25, temporary=0.01, permanent=0.002)
    rng = np.random.default_rng(2)
    noise, shares = rng.normal(size=(3, 1)), np.array([[0.3], [0.6], [0.2]])
    rewards, _ = played(env, noise, shares)
    left, price, cash = 100.0, 50.0, 0.0
    for now, (share,) in zip(noise, [[0.3], [0.6], [1.0]], strict=True):
        sold = share * left
        cash += sold * (price - 0.0625 - 0.01 / 0.25 * sold)
        price += 0.5 * 0.25**0.5 * now[0] - 0.002 * sold
        left -= sold
    assert sum(rewards) == pytest.approx(cash - 100 * 50, abs=1e-9)


BAD = {
    "covariance": (lambda: Allocation(covariance=np.ones((3, 3))), "positive definite"),
    "covariance = (1.0,)": (lambda: Allocation(covariance=(1.0,)), "must have 9 numbers"),
    "riskless": (lambda: Allocation(riskless=0.0), "above 0"),
    "cost": (lambda: Allocation(cost=1.0), "below 1"),
    "short": (lambda: Allocation(short=-1.0), "0 or more"),
    "block": (lambda: Allocation(block=2.0), "goes with data"),
    "discount": (lambda: Allocation(discount=0.9), "must be 1"),
    "permanent": (lambda: Execution(permanent=1.0), "must be below"),
    "volatility": (lambda: Execution(volatility=0.0), "above 0"),
}


@pytest.mark.parametrize("field", BAD)
def test_bad_parameters_are_named(field):
    make, remedy = BAD[field]
    with pytest.raises(InputError, match=remedy) as error:
        make()
    assert field.split(" ")[0] == error.value.field


def test_moments_of_a_market_are_those_of_its_draws():
    table = np.random.default_rng(0).normal(1.01, 0.1, (50, 2))
    mean, second = BootstrapMarket(jnp.asarray(table)).moments
    np.testing.assert_allclose(mean, table.mean(axis=0))
    np.testing.assert_allclose(second - np.outer(mean, mean), np.cov(table.T, ddof=0))
    mean, second = GaussianMarket(MEAN, (0.04, 0.01, 0.01, 0.02)).moments
    np.testing.assert_allclose(second - np.outer(mean, mean), COVARIANCE)
