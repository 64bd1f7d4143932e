"""Problems from arrays: every form says the same, and what cannot be right is refused with a remedy."""

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array, csr_matrix

from fenchel.envs import AmericanOption
from fenchel.errors import InputError
from fenchel.exact import best, constrained, enumerate_environment, finite_problem, frontier
from fenchel.objectives import CVaR, Expectation

OPTION = {"start": 1.25, "horizon": 4, "put_strike": 1.3, "call_strike": 1.2, "discount": 0.95}
UP, DOWN, RISE = 9 / 8, 8 / 9, 0.45


def payoff(price):
    return max(OPTION["put_strike"] - price, 0) + max(price - OPTION["call_strike"], 0)


def price(step, ups):
    return OPTION["start"] * UP**ups * DOWN ** (step - ups)


def option_arrays():
    """Nodes t(t + 1)/2 + ups of the tree to maturity, and the end, to which executing leads."""
    horizon = OPTION["horizon"]
    nodes = [(t, ups) for t in range(horizon + 1) for ups in range(t + 1)]
    number = {node: k for k, node in enumerate(nodes)}
    end = len(nodes)
    chances, rewards = np.zeros((end + 1, 2, end + 1)), np.zeros((end + 1, 2))
    for (t, ups), k in number.items():
        if t < horizon:
            chances[k, 0, number[t + 1, ups + 1]] = RISE
            chances[k, 0, number[t + 1, ups]] = 1 - RISE
            chances[k, 1, end] = 1
            rewards[k, 1] = payoff(price(t, ups))
    terminal = np.array([t == horizon for t, _ in nodes] + [True])
    matured = [OPTION["discount"] * payoff(price(t, ups)) * (t == horizon) for t, ups in nodes]
    return chances, rewards, terminal, np.array([*matured, 0.0])


def per_step(chances, rewards, terminal, bonus):
    """The same, cut into a table per step: the t + 1 nodes of time t, and the end once it can be reached."""
    end, found = len(terminal) - 1, []
    for t in range(OPTION["horizon"]):
        before = [t * (t + 1) // 2 + ups for ups in range(t + 1)] + ([end] if t else [])
        after = [(t + 1) * (t + 2) // 2 + ups for ups in range(t + 2)] + [end]
        table = chances[before][:, :, after]
        if t:
            table[-1, :, -1] = 1
        found.append((table, rewards[before], terminal[after], bonus[after]))
    return [list(column) for column in zip(*found, strict=True)]


def forms():
    chances, rewards, terminal, bonus = option_arrays()
    tables, earned, ends, bonuses = per_step(chances, rewards, terminal, bonus)
    rows, full = chances.reshape(-1, chances.shape[2]), np.broadcast_to(rewards[:, :, None], chances.shape)
    flat = full.reshape(rows.shape)
    return {
        "dense": (chances, rewards, 0, terminal, bonus, {}),
        "lists": (chances.tolist(), rewards.tolist(), 0, terminal.tolist(), bonus.tolist(), {}),
        "horizon": (chances, rewards, 0, terminal, bonus, {"horizon": 4}),
        "rewards of branches": (chances, full, 0, terminal, bonus, {}),
        "csr": (csr_array(rows), rewards, 0, terminal, bonus, {}),
        "coo, sparse rewards": (coo_array(rows), coo_array(flat), 0, terminal, bonus, {}),
        "old csr": (csr_matrix(rows), csr_matrix(flat), np.eye(len(terminal))[0], terminal, bonus, {}),
        "per step": (tables, earned, 0, ends, bonuses, {}),
        "per step, start": (tables, earned, [1.0], ends, bonuses, {"horizon": 4}),
        "per step, sparse": (
            [csr_array(t.reshape(-1, t.shape[2])) for t in tables],
            earned,
            np.ones(1),
            ends,
            bonuses,
            {},
        ),
        "per step, sparse, numbered start": (
            [csr_array(t.reshape(-1, t.shape[2])) for t in tables],
            earned,
            0,
            ends,
            bonuses,
            {},
        ),
    }


@pytest.mark.parametrize("form", forms())
def test_every_form_of_the_option_is_the_enumerated_one(form):
    chances, rewards, start, terminal, bonus, how = forms()[form]
    discount = OPTION["discount"]
    problem = finite_problem(
        chances, rewards, start, terminal=terminal, terminal_reward=bonus, discount=discount, **how
    )
    expected = enumerate_environment(AmericanOption(**OPTION))
    assert (
        [layer.size for layer in problem.layers] == [layer.size for layer in expected.layers] == [1, 2, 3, 4]
    )
    np.testing.assert_allclose(problem.returns, expected.returns, rtol=1e-12)
    one, other = frontier(problem), frontier(expected)
    np.testing.assert_allclose(one.mean, other.mean, rtol=1e-12)
    np.testing.assert_allclose(one.second, other.second, rtol=1e-12)
    law, same = (x.best(2.0).law for x in (one, other))
    np.testing.assert_allclose(law.probabilities, same.probabilities, rtol=1e-12, atol=1e-15)


STAY, LEAVE = [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]
OFFERS = {
    "transition": np.array([[STAY, LEAVE], [STAY, LEAVE], [LEAVE, LEAVE]]),
    "reward": np.array([[0.0, 1.0], [0.0, 3.0], [0.0, 0.0]]),
    "start": 0,
    "horizon": 3,
    "terminal": np.array([False, False, True]),
}
"""An offer is low or high; state 2 is the end."""


def changed(field, place, value):
    array = np.array(OFFERS[field], float if field != "terminal" else bool)
    array[place] = value
    return {field: array}


def offers(**changes):
    return finite_problem(**{**OFFERS, **changes})


def test_offers_are_worth_what_they_are():
    """With two more offers to come a low one is refused; with one more, half of (1 + 3) is as good as 1."""
    assert best(offers(), Expectation()).value == pytest.approx(
        0.5 * 3 + 0.5 * (0.5 * 3 + 0.5 * 1), rel=1e-12
    )
    assert best(offers(discount=0.5), Expectation()).value == pytest.approx(1, rel=1e-12)
    assert best(offers(terminal_reward=[0.0, 7.0, 0.0]), Expectation()).value > 3


def test_rows_of_ends_and_of_actions_that_are_missing_may_hold_anything():
    allowed = np.array([[True, True], [False, True], [True, True]])
    plain = frontier(offers(allowed=allowed))
    table = OFFERS["transition"].copy()
    table[2], table[1, 0] = 0, [0.1, 0.1, 0.0]
    odd = frontier(offers(transition=table, allowed=allowed))
    np.testing.assert_allclose(odd.mean, plain.mean, rtol=1e-15)
    np.testing.assert_allclose(odd.second, plain.second, rtol=1e-15)


def test_an_action_that_is_not_allowed_is_never_taken():
    """The best of three actions is missing, then the best two: what is left is worth less, and certified."""
    end, payoffs = np.ones((1, 3, 1)), np.array([[1.0, 2.0, 3.0]])
    for allowed, value in (([True, True, False], 2.0), ([True, False, False], 1.0)):
        mask = np.array([allowed])
        problem = finite_problem(end, payoffs, 0, horizon=1, allowed=mask)
        found = frontier(problem)
        assert found.mean[-1] == pytest.approx(value, rel=1e-12)
        assert found.highest == pytest.approx(value, rel=1e-12)
        for optimum in (found.best(1.0), best(problem, Expectation()), best(problem, CVaR(0.5))):
            assert optimum.value == pytest.approx(value, rel=1e-12)
            assert optimum.gap <= 1e-9
            assert mask[0, optimum.policy.actions[0][0]]
        assert constrained(problem, 0.5).value == pytest.approx(value, rel=1e-12)
        assert constrained(problem, 0.5).deterministic.law.mean == pytest.approx(value, rel=1e-12)


def test_tables_of_steps_with_other_numbers_of_actions_are_refused():
    first, second = np.array([[[0.5, 0.5]]]), np.ones((2, 2, 1))
    with pytest.raises(InputError, match="must be 1 as in step 0") as caught:
        finite_problem([first, second], [np.zeros((1, 1)), np.array([[0.0, 1.0], [2.0, 0.0]])], 0)
    assert caught.value.field == "transition of step 1: actions"


@pytest.mark.parametrize("problem", [3, None, AmericanOption])
def test_what_is_no_problem_is_refused(problem):
    with pytest.raises(InputError, match="the name of one"):
        frontier(problem)


def test_sparse_tables_are_left_as_they_are():
    rows = OFFERS["transition"].reshape(6, 3)
    places = np.nonzero(np.ones((6, 3)))
    table = csr_array((rows.ravel(), places), shape=rows.shape)  # zeros are stored
    offers(transition=table)
    assert table.nnz == 18
    fixed = csr_array(rows)
    for part in (fixed.data, fixed.indices, fixed.indptr):
        part.flags.writeable = False
    assert len(frontier(offers(transition=fixed))) == len(frontier(offers()))


@pytest.mark.parametrize("unit", [1e-9, 1e-3, 1e6])
def test_the_unit_of_rewards_does_not_matter(unit):
    rewards = np.array([[0.0, 1.0], [0.0, 1.001], [0.0, 0.0]])
    plain, scaled = frontier(offers(reward=rewards)), frontier(offers(reward=unit * rewards))
    assert len(plain) == len(scaled)
    np.testing.assert_allclose(scaled.mean / unit, plain.mean, rtol=1e-9)
    np.testing.assert_allclose(scaled.second / unit**2, plain.second, rtol=1e-9)
    assert scaled.best(1 / unit).value / unit == pytest.approx(plain.best(1.0).value, rel=1e-9)


@pytest.mark.parametrize("shift", [10.0, 1000.0, 1e8])
@pytest.mark.parametrize("risk_aversion", [1.0, 100.0])
def test_a_sure_reward_shifts_the_optimum_and_spoils_no_certificate(shift, risk_aversion):
    hulls = [frontier(offers(terminal_reward=np.full(3, sure))) for sure in (0.0, shift)]
    plain, shifted = (hull.best(risk_aversion) for hull in hulls)
    assert shifted.value - shift == pytest.approx(plain.value, abs=1e-12 * shift)
    assert shifted.gap <= 1e-11 * abs(shifted.value)
    assert len(hulls[0]) == len(hulls[1])
    np.testing.assert_allclose(hulls[1].variance, hulls[0].variance, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_a_sure_reward_changes_nothing_about_a_bound_on_the_variance(shift):
    plain, shifted = (constrained(offers(terminal_reward=np.full(3, sure)), 0.5) for sure in (0.0, shift))
    assert shifted.value - shift == pytest.approx(plain.value, abs=1e-9)
    assert shifted.mixture.weight == pytest.approx(plain.mixture.weight, abs=1e-6)
    assert shifted.deterministic.law.mean - shift == pytest.approx(plain.deterministic.law.mean, abs=1e-9)
    assert 0 <= shifted.gap <= 1e-12 * max(shift, 100)
    assert 0 <= shifted.deterministic_gap <= 1e-9 * max(shift, 1)


def test_rows_that_almost_sum_to_one_are_scaled():
    """The certificate would take what is missing for returns of nothing."""
    table = OFFERS["transition"] * (1 - 5e-10)
    found = frontier(offers(transition=table, terminal_reward=np.full(3, 1e6))).best(1.0)
    exact = frontier(offers(terminal_reward=np.full(3, 1e6))).best(1.0)
    assert found.value == pytest.approx(exact.value, rel=1e-14)
    assert found.gap <= 1e-12 * found.value


LOOP = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]])

BAD = {
    "a row of 0.9": (changed("transition", (1, 0, 0), 0.4), "transition, state 1, action 0: sum", "sum to 1"),
    "a row of zeros": (changed("transition", (0, 1), 0), "transition, state 0, action 1: sum", "allowed"),
    "a negative chance": (
        changed("transition", (1, 0), [1.5, -0.5, 0]),
        "transition, state 1, action 0",
        "not negative",
    ),
    "a chance that is none": (
        changed("transition", (0, 0, 1), np.nan),
        "transition, state 0, action 0",
        "finite",
    ),
    "an infinite chance": (changed("transition", (0, 0, 1), np.inf), "transition", "finite"),
    "a matrix": ({"transition": np.eye(3)}, "transition", "actions"),
    "other states": ({"transition": np.full((3, 2, 2), 0.5), "terminal": None}, "transition", "same states"),
    "no actions": ({"transition": np.zeros((3, 0, 3))}, "transition", "actions"),
    "rows that do not fit": (
        {"transition": csr_array(np.full((5, 3), 1 / 3))},
        "transition",
        "multiple of 3",
    ),
    "rows of other length": (
        {"transition": [[[0.5, 0.5, 0], [1.0]], [[0, 0, 1.0], [1.0]], [[1.0], [1.0]]]},
        "transition",
        "",
    ),
    "one table, bad row": (
        {
            "transition": [np.array([[[0.5, 0.2]], [[0.0, 1.0]]])],
            "reward": np.zeros((2, 1)),
            "terminal": np.array([True, False]),
            "horizon": None,
        },
        "transition",
        "sum to 1",
    ),
    "unreachable": (
        {"transition": np.array([[STAY, STAY], [STAY, STAY], [LEAVE, LEAVE]])},
        "transition",
        "reaches state 2",
    ),
    "unreachable but for the actions": (
        {"allowed": np.array([[True, False]] * 3)},
        "transition",
        "reaches state 2",
    ),
    "unreachable in a step": (
        {
            "transition": [np.array([[[1.0, 0.0]]]), np.ones((2, 1, 1))],
            "reward": [np.zeros((1, 1)), np.zeros((2, 1))],
            "horizon": None,
            "terminal": None,
        },
        "transition",
        "reaches state 1 in step 1",
    ),
    "never ends": ({"horizon": None}, "terminal", "for ever"),
    "never ends in one state": (
        {"transition": LOOP, "reward": np.zeros((2, 2)), "terminal": [False, True], "horizon": None},
        "terminal",
        "give a horizon",
    ),
    "rewards of other shape": ({"reward": np.zeros((3, 3))}, "reward", "[3, 2]"),
    "sparse rewards of other shape": ({"reward": csr_array(np.zeros((3, 2)))}, "reward", "[3, 2, 3]"),
    "an infinite reward": (changed("reward", (1, 1), np.inf), "reward", "finite"),
    "a reward that is none": (changed("reward", (0, 0), np.nan), "reward", "finite"),
    "rewards per step only": ({"reward": [OFFERS["reward"]] * 3}, "reward", "transition"),
    "too few rewards": (
        {"transition": [OFFERS["transition"]] * 3, "reward": [OFFERS["reward"]]},
        "reward",
        "3",
    ),
    "start beyond": ({"start": 3}, "start", "below 3"),
    "start below": ({"start": -1}, "start", "below 3"),
    "start between": ({"start": 0.5}, "start", "number of a state"),
    "start of other length": ({"start": [0.5, 0.5]}, "transition", "2"),
    "start of 0.9": ({"start": [0.5, 0.4, 0.0]}, "start", "sum to 1"),
    "negative start": ({"start": [1.5, -0.5, 0.0]}, "start", "probabilities"),
    "start that is none": ({"start": [np.nan, 1.0, 0.0]}, "start", "probabilities"),
    "start at the end": ({"start": 2}, "start", "terminal"),
    "start partly at the end": ({"start": [0.5, 0.0, 0.5]}, "start", "terminal"),
    "a state without actions": (
        {"allowed": np.array([[True, True], [False, False], [True, True]])},
        "allowed",
        "every state",
    ),
    "allowed of other shape": ({"allowed": np.ones((3, 3), bool)}, "allowed", "[3, 2]"),
    "allowed as numbers": ({"allowed": np.ones((3, 2))}, "allowed", "True and False"),
    "terminal of other shape": ({"terminal": [False, True]}, "terminal", "[3]"),
    "terminal as numbers": ({"terminal": [0, 0, 1]}, "terminal", "True and False"),
    "terminal rewards of other shape": ({"terminal_reward": [1.0]}, "terminal_reward", "[3]"),
    "an infinite terminal reward": ({"terminal_reward": [0, 0, -np.inf]}, "terminal_reward", "finite"),
    "no horizon": ({"horizon": 0}, "horizon", "at least 1"),
    "half a step": ({"horizon": 2.5}, "horizon", "whole number"),
    "other horizon": ({"transition": [OFFERS["transition"]] * 2, "horizon": 3}, "horizon", "must be 2"),
    "no discount": ({"discount": 0.0}, "discount", "above 0"),
    "discount above 1": ({"discount": 1.01}, "discount", "at most 1"),
    "discount that is none": ({"discount": float("nan")}, "discount", "finite"),
    "no states": ({"most_states": 0}, "most_states", "at least 1"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_named_with_its_remedy(name):
    changes, field, remedy = BAD[name]
    with pytest.raises(InputError) as caught:
        offers(**changes)
    assert caught.value.field.startswith(field)
    assert remedy in f"{caught.value.value} {caught.value.remedy}"
    assert str(caught.value) == f"{caught.value.field} = {caught.value.value!r}: {caught.value.remedy}"


def test_too_many_states_are_counted_and_what_to_change_is_said():
    rewards = OFFERS["reward"] + np.array([[np.pi, 0.0], [np.e, 0.0], [0.0, 0.0]])
    sizes = np.cumsum([layer.size for layer in offers(reward=rewards, horizon=8).layers])
    most = int(sizes[4])
    with pytest.raises(InputError) as caught:
        offers(reward=rewards, horizon=8, most_states=most)
    assert caught.value.field == "most_states"
    assert caught.value.value == most
    assert f"{sizes[5]} pairs of state and reward so far by step 5" in caught.value.remedy
    for word in ("horizon", "rewards", "most_states"):
        assert word in caught.value.remedy
    assert offers(reward=rewards, horizon=5, most_states=most).size == most


@pytest.mark.parametrize("share", [0.0, 0.5, 0.999])
def test_a_bound_below_the_smallest_variance_names_it(share):
    """A coin of which nobody can choose the stakes below 1: the least standard deviation is 1."""
    coin = np.full((1, 2, 2), 0.5)
    stakes = np.array([[[1.0, -1.0], [2.0, -1.5]]])
    problem = finite_problem([coin], [stakes], 0)
    least = float(np.min(frontier(problem).variance))
    assert least == pytest.approx(1, rel=1e-12)
    with pytest.raises(InputError, match="smallest variance") as caught:
        constrained(problem, share * least)
    assert caught.value.field == "variance_at_most"
    assert caught.value.value == share * least
    assert "1," in caught.value.remedy
    assert constrained(problem, least).value == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"variance_at_most": -1.0}, "variance_at_most"),
        ({"variance_at_most": float("nan")}, "variance_at_most"),
        ({"variance_at_most": 10.0, "nodes": -1}, "nodes"),
        ({"variance_at_most": 10.0, "nodes": 1.5}, "nodes"),
    ],
)
def test_bounds_that_make_no_sense_are_refused(arguments, field):
    with pytest.raises(InputError) as caught:
        constrained(offers(), **arguments)
    assert caught.value.field == field


@pytest.mark.parametrize("risk_aversion", [0.0, -1.0, float("inf")])
def test_a_risk_aversion_that_makes_no_sense_is_refused(risk_aversion):
    with pytest.raises(InputError) as caught:
        frontier(offers()).best(risk_aversion)
    assert caught.value.field == "risk_aversion"
