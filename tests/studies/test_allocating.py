"""Allocation from a table to a decision, and frontiers near their closed forms."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fenchel
from fenchel.cli.main import main
from fenchel.data import AssetReturns
from fenchel.envs import Allocation, Execution
from fenchel.errors import InputError
from fenchel.exact import almgren_chriss, li_ng
from fenchel.policies import Central, DatedGaussian
from fenchel.studies.allocating import RULES, comparison, market, play, rule_of, weights_by_date, windows

pytestmark = pytest.mark.slow

MARKET = {"riskless": 1.02, "mean": (1.06, 1.03), "covariance": ((0.04, 0.01), (0.01, 0.02))}
ROWS, ASSETS = 60, ("stocks", "bonds")


@pytest.fixture(scope="module")
def prices(tmp_path_factory):
    """Monthly prices of two assets."""
    rng = np.random.default_rng(0)
    gross = 1 + rng.multivariate_normal([0.012, 0.004], [[0.002, 0.0003], [0.0003, 0.0004]], ROWS)
    values = 100 * np.cumprod(np.vstack([np.ones(2), gross]), axis=0)
    lines = [
        f"{2000 + i // 12}-{i % 12 + 1:02d}-28,{row[0]:.8f},{row[1]:.8f}" for i, row in enumerate(values)
    ]
    path = tmp_path_factory.mktemp("prices") / "prices.csv"
    path.write_text("\n".join(["date,stocks,bonds", *lines]) + "\n")
    return path


def test_allocation_is_within_half_a_per_cent_of_li_and_ng():
    env = Allocation(horizon=3, **MARKET)
    found = fenchel.frontier(env, grid=[1.0, 3.0, 10.0], episodes=60_000, batch_size=512)
    assert found.exact and len(found.points) == 3
    for point in found.points:
        best = li_ng(env, point.risk_aversion)
        assert point.optimum == pytest.approx(best.value)
        assert 0.995 < point.score <= 1
        assert point.value == pytest.approx(best.value, rel=0.005)


def test_execution_is_within_a_per_cent_of_almgren_and_chriss():
    env = Execution(horizon=4)
    found = fenchel.frontier(env, episodes=100_000, batch_size=128)
    assert [point.risk_aversion for point in found.points] == list(env.risk_grid)
    for point in found.points:
        assert point.value == pytest.approx(almgren_chriss(env, point.risk_aversion).value, rel=0.01)
        assert point.score <= 1 + 1e-9


def test_from_prices_to_a_decision(prices, tmp_path, capsys):
    out, figure = tmp_path / "kept", tmp_path / "a.png"
    words = ["frontier", "allocation", "--data", str(prices), "--env.horizon", "3", "--grid", "1", "5"]
    words += ["--episodes", "20000", "--quiet", "--json", "--out", str(out), "--figure", str(figure)]
    assert main(words) == 0
    record = json.loads(capsys.readouterr().out)
    about = record["allocation"]
    assert figure.stat().st_size > 10_000
    assert (about["assets"], about["rows_learned"], about["rows_held_out"]) == (list(ASSETS), 48, 12)
    assert (about["windows_held_out"], about["held_out_from"]) == (10, "2004-02-28")
    assert [row["policy"] for row in about["comparison"]] == ["learned", *RULES]
    assert [row["date"] for row in about["weights"]] == [0, 1, 2]
    assert all(point["score"] > 0.99 for point in record["points"])

    lines = prices.read_text().splitlines()
    new = tmp_path / "new.csv"
    new.write_text("\n".join([lines[0], *lines[-2:]]) + "\n")
    assert main(["apply", str(out), "--data", str(new), "--step", "1", "--wealth", "1.1", "--json"]) == 0
    decided = json.loads(capsys.readouterr().out)["decisions"]
    point = fenchel.Frontier.load(out).pick(risk_aversion=1.0)
    env = fenchel.Frontier.load(out).env
    assert env.table.shape == (48, 2) and float(jnp.min(env.table)) > 0.5
    wanted = point.policy.mode(jnp.array([1.1 - 1.0, 1.0]))
    assert [decided[0][name] for name in ASSETS] == pytest.approx(wanted.tolist(), rel=1e-6)
    old, now = (np.array(line.split(",")[1:], float) for line in lines[-2:])
    grown = 1.1 + np.asarray(wanted) @ (now / old - 1)
    assert (decided[1]["step"], decided[1]["wealth"]) == (2, pytest.approx(grown))
    assert main(["apply", str(out), "--data", str(new), "--step", "2"]) == 2
    assert "give fewer rows" in capsys.readouterr().err
    assert main(["apply", str(tmp_path)]) == 2


BAD = {
    "--env.mean 1.1": "env.mean",
    "--env.horizon 40": "rows",
    "--holdout 1": "holdout",
    "--kind price": "kind",
    "--env.leverage -1": "env.leverage",
}


@pytest.mark.parametrize("words", BAD)
def test_bad_input_is_named(words, prices, capsys):
    assert main(["frontier", "allocation", "--data", str(prices), *words.split()]) == 2
    assert f"error: {BAD[words]} = " in capsys.readouterr().err


def test_data_go_with_allocation_only(prices, capsys):
    assert main(["frontier", "option", "--data", str(prices)]) == 2
    assert "goes with the environment allocation" in capsys.readouterr().err


def test_rules_do_what_their_names_say():
    env = Allocation(horizon=2, **MARKET)
    gross = np.array([[[1.1, 0.9], [1.2, 1.0]], [[1.0, 1.0], [0.5, 1.5]]])
    equal = play(env, RULES["equal weight"](env, 1.0), gross).wealth[-1]
    np.testing.assert_allclose(equal, [1.0 * 1.1, 1.0], rtol=1e-12)
    hold = play(env, RULES["buy and hold"](env, 1.0), gross).wealth[-1]
    np.testing.assert_allclose(hold, [(1.1 * 1.2 + 0.9) / 2, 1.0], rtol=1e-12)
    single = play(env, RULES["single-period Markowitz"](env, 2.0), gross).amounts
    np.testing.assert_allclose(
        single[0, 0], li_ng(Allocation(horizon=1, **MARKET), 2.0).policy.constants[0], atol=1e-12
    )


def test_windows_are_consecutive_rows():
    rows = np.arange(5.0)[:, None]
    assert windows(rows, 3)[..., 0].tolist() == [[0, 1, 2], [1, 2, 3], [2, 3, 4]]


def test_comparison_and_weights_of_a_constant_policy():
    table = AssetReturns(ASSETS, 1 + np.random.default_rng(1).normal(0.01, 0.05, (50, 2)))
    made = market(table, horizon=2, riskless=1.01)
    policy = Central(DatedGaussian(jnp.zeros(2), jnp.full((2, 2), 0.25), jnp.zeros((2, 2, 1))))
    rule = rule_of(made.env, policy)
    held = windows(made.held.gross, 2)
    (row,) = comparison(made.env, {"own": rule}, 2.0, held)
    gains = 0.25 * (held - 1.01).sum(axis=2)
    final = 1.01**2 + 1.01 * gains[:, 0] + gains[:, 1]
    found = (row["held_out_mean"], row["held_out_std"], row["held_out_worst"])
    assert found == pytest.approx((final.mean(), final.std(), final.min()))
    first = weights_by_date(made.env, rule, ASSETS)[0]
    assert first == {"date": 0, "wealth": 1.0, "stocks": 0.25, "bonds": 0.25, "cash": 0.5}


def test_settings_that_do_not_go_together():
    env = Allocation(horizon=2, **MARKET)
    cases = {
        "estimator": ("option", {"estimator": "pathwise"}),
        "control_variate": (env, {"control_variate": "batch"}),
        "optimizer": (env, {"estimator": "score", "optimizer": "newton"}),
    }
    for field, (world, settings) in cases.items():
        with pytest.raises(InputError) as error:
            fenchel.train(world, "bca", episodes=2048, **settings)
        assert error.value.field == field


def test_a_run_on_data_is_not_loaded_without_them(tmp_path):
    table = jnp.asarray(1 + np.random.default_rng(1).normal(0.01, 0.05, (50, 2)))
    env = Allocation(horizon=1, riskless=1.0, table=table)
    result = fenchel.train(env, "bca", episodes=2048, out=tmp_path / "run")
    assert result.policy.sample(jax.random.key(0), jnp.zeros(2))[0].shape == (2,)
    with pytest.raises(InputError, match="arrays that no file keeps"):
        fenchel.load(tmp_path / "run")
