"""Every named algorithm against a loop in plain NumPy, and what tells the algorithms apart."""

from functools import partial
from itertools import pairwise, permutations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from ascent.support import (
    DUAL,
    ENV,
    INDEXED,
    batches_of,
    first_split,
    first_table,
    flat,
    noise_of,
    run,
    run_reference,
)
from reference import algorithms as reference

from fenchel import InputError, bsg, mvp, pg, rcpg, sbmd, sga, tamar
from fenchel.ascent import L1, Block, BlockAscent, Box, Constant, Euclidean, RobbinsMonro
from fenchel.estimators import ScoreFunction
from fenchel.objectives import Expectation, FenchelMeanVariance

UPDATES = 100
RISK_AVERSION = 0.5
GOAL = FenchelMeanVariance(RISK_AVERSION)
ADAM = optax.adam(1.0)
STRENGTH, LOWEST, HIGHEST = 0.05, 0.5, 1.1
SPLIT = (("policy.slope",), ("policy.steps",))
PARTS = [slice(0, 1), slice(1, None)]

ALGORITHMS = {
    "mvp": (mvp, reference.mvp),
    "mvp, fresh batch": (partial(mvp, fresh_batch=True), reference.fresh_mvp),
    "sga": (sga, reference.sga),
    "rcpg": (rcpg, reference.rcpg),
    "pg": (pg, reference.pg),
    "bsg of 2": (bsg, partial(reference.bsg, parts=[slice(None)])),
    "bsg of 3": (partial(bsg, policy_blocks=SPLIT), partial(reference.bsg, parts=PARTS)),
    "bsg shuffled": (
        partial(bsg, policy_blocks=SPLIT, order="shuffled"),
        partial(reference.bsg, parts=PARTS, shuffle=True),
    ),
    "sbmd": (sbmd, reference.sbmd),
    "tamar": (partial(tamar, risk_aversion=RISK_AVERSION), reference.tamar),
    "tamar, bound": (
        partial(tamar, risk_aversion=RISK_AVERSION, variance_bound=0.01),
        partial(reference.tamar, bound=0.01),
    ),
}
"""Named algorithms, and their references."""

SCHEDULES = {
    "constant": (Constant(0.05), Constant(0.1)),
    "robbins-monro": (RobbinsMonro(0.2, 10.0, 0.75), RobbinsMonro(0.3, 20.0, 0.6)),
}
SIZES = {
    "constant": lambda t: (0.05, 0.1),
    "robbins-monro": lambda t: (0.2 / (1 + t / 10) ** 0.75, 0.3 / (1 + t / 20) ** 0.6),
}


def options_of(name, style):
    """Keyword arguments of the algorithm, and the rules of its reference, for a style of update."""
    rules = reference.Rules(RISK_AVERSION, transforms=[reference.identity] * 2)
    options = {}
    if style == "proximal":
        if name != "pg":
            options["dual_prox"] = Box(LOWEST, HIGHEST)
            rules.project = lambda y: min(max(y, LOWEST), HIGHEST)
        if name != "sbmd":
            options["policy_prox"] = L1(STRENGTH)
            rules.prox = lambda x, step: np.sign(x) * np.maximum(np.abs(x) - step * STRENGTH, 0)
    if style == "adam":
        options["policy_optimizer"] = ADAM
        rules.transform = reference.Adam()
        rules.transforms = [reference.Adam(), reference.Adam()]
    return options, rules


def cases():
    """Plain steps with single episodes; of the other styles one with those and one with batches."""
    single, batches = (1, "robbins-monro"), (4, "constant")
    for index, name in enumerate(ALGORITHMS):
        yield name, "plain", *single
        if name.startswith("tamar"):
            yield name, "plain", *batches
        else:
            yield name, "proximal", *(single if index % 2 else batches)
            yield name, "adam", *(batches if index % 2 else single)


@pytest.mark.parametrize(("name", "style", "batch_size", "schedule"), list(cases()))
def test_equals_its_reference_step_by_step(name, style, batch_size, schedule):
    build, loop = ALGORITHMS[name]
    steps = SCHEDULES[schedule][:1] if name == "pg" else SCHEDULES[schedule]
    options, rules = options_of(name, style)
    solver = build(*steps, **options)
    table = name == "sbmd"
    policy, goal = first_table() if table else first_split(), Expectation() if name == "pg" else GOAL
    estimator = ScoreFunction(INDEXED if table else ENV, batch_size)
    states = run(solver, policy, estimator, goal, UPDATES)
    expected = run_reference(loop, solver, policy, estimator, SIZES[schedule], rules, UPDATES)
    assert np.abs(flat(states[-1].policy) - flat(policy)).max() > 1e-3
    for state, (theta, dual, *variance) in zip(states[1:], expected, strict=True):
        np.testing.assert_allclose(flat(state.policy), theta, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(state.dual, dual, rtol=1e-10)
        if variance:
            np.testing.assert_allclose(state.memory, variance[0], rtol=1e-10)


def steps(solver, count=1, batch_size=4, goal=GOAL):
    return run(solver, first_split(), ScoreFunction(ENV, batch_size), goal, count)


def test_cyclic_and_simultaneous_differ_after_one_step_in_the_policy_only():
    cyclic, simultaneous = (steps(solver, batch_size=64)[1] for solver in (mvp(0.1, 0.1), sga(0.1, 0.1)))
    assert cyclic.dual == simultaneous.dual
    assert not np.allclose(flat(cyclic.policy), flat(simultaneous.policy), rtol=1e-6)


def test_one_block_of_everything_is_sga():
    joint = BlockAscent((Block(("dual", "policy"), Constant(0.1)),))
    for one, two in zip(steps(joint, 20), steps(sga(0.1, 0.1), 20), strict=True):
        np.testing.assert_allclose(flat(one.policy), flat(two.policy), rtol=1e-12)
        np.testing.assert_allclose(one.dual, two.dual, rtol=1e-12)


def test_sbmd_with_the_euclidean_mirror_is_rcpg():
    mirror = steps(sbmd(0.1, 0.1, policy_mirror=Euclidean()), 20)
    assert eqx.tree_equal(mirror, steps(rcpg(0.1, 0.1), 20))


def test_random_order_leaves_the_inactive_block_bit_for_bit():
    states = steps(rcpg(0.1, 0.1, policy_optimizer=ADAM), 40)
    moved = set()
    for before, after in pairwise(states):
        dual_rests = eqx.tree_equal((before.dual, before.memory[0]), (after.dual, after.memory[0]))
        policy_rests = eqx.tree_equal((before.policy, before.memory[1]), (after.policy, after.memory[1]))
        assert bool(dual_rests) != bool(policy_rests)
        moved.add("policy" if dual_rests else "dual")
    assert moved == {"policy", "dual"}


def test_a_block_that_is_left_out_stays_at_rest():
    states = steps(BlockAscent((Block(("policy.steps",), Constant(0.1)),)), 5)
    assert np.array_equal(states[-1].policy.slope, states[0].policy.slope)
    assert states[-1].dual == DUAL
    assert not np.array_equal(states[-1].policy.steps, states[0].policy.steps)


def test_fresh_batch_plays_other_episodes_for_each_block():
    policy, estimator = first_split(), ScoreFunction(ENV, 8)
    solvers = (mvp(fresh_batch=True), 2), (mvp(), 1), (bsg(policy_blocks=SPLIT, fresh_batch=True), 3)
    for solver, count in solvers:
        noise = noise_of(solver, policy, estimator, 0)
        assert len(batches_of(noise)) == solver.batches == count
        assert len({np.asarray(batch.step).tobytes() for batch in batches_of(noise)}) == count
        state = solver.init(policy, jnp.asarray(DUAL))
        _, info = eqx.filter_jit(solver.step)(noise, jnp.asarray(0), state, estimator, GOAL)
        assert info.returns.shape == (8 * count,)


def test_a_random_block_needs_no_batch_of_its_own():
    assert bsg(order="random", fresh_batch=True).batches == 1


def test_shuffled_visits_all_orders_equally_often():
    """Each of the 3! orders leaves a result of its own; 6000 draws against the uniform distribution."""
    solver = bsg(0.5, 0.3, policy_blocks=SPLIT, order="shuffled")
    policy, estimator = first_split(), ScoreFunction(ENV, 2)
    state = solver.init(policy, jnp.asarray(DUAL))
    batches, _ = noise_of(solver, policy, estimator, 1)

    @jax.jit
    def end(numbers):
        moved = solver.step((batches, numbers), jnp.asarray(0), state, estimator, GOAL)[0]
        return jnp.concatenate([moved.dual[None], moved.policy.slope, moved.policy.steps])

    fixed = [end(jnp.asarray(np.argsort(order) / 3)) for order in permutations(range(3))]
    apart = [np.abs(a - b).max() for i, a in enumerate(fixed) for b in fixed[:i]]
    assert min(apart) > 1e-6
    keys = jax.random.split(jax.random.key(5), 6000)
    numbers = jax.vmap(lambda key: solver.draw(key, policy, estimator)[1])(keys)
    ends = jax.lax.map(end, numbers)
    counts = [np.sum(np.abs(ends - one[None]).max(axis=1) < 1e-9) for one in fixed]
    assert sum(counts) == 6000
    chi_square = sum((count - 1000) ** 2 / 1000 for count in counts)
    assert chi_square < 20.5  # the 99.9 % quantile with 5 degrees of freedom


@pytest.mark.parametrize(
    ("blocks", "text"),
    [
        ((Block(("dual",)), Block(("dual", "policy"))), "share dual"),
        ((Block(("policy",)), Block(("policy.slope",))), "share policy.slope"),
        ((Block(("policy.slop",)),), "names no parameter; there are policy.slope, policy.steps, dual"),
        ((Block(()),), "names no parameter"),
    ],
)
def test_blocks_that_overlap_or_are_empty_are_refused(blocks, text):
    with pytest.raises(InputError, match=text):
        BlockAscent(blocks).init(first_split(), jnp.asarray(DUAL))


def test_a_solver_without_blocks_or_of_unknown_order_is_refused():
    with pytest.raises(InputError, match="at least one block"):
        BlockAscent(())
    with pytest.raises(InputError, match="did you mean 'cyclic'"):
        bsg(order="cylic")


@pytest.mark.parametrize("algorithm", [mvp, sga, rcpg, sbmd, bsg, pg, tamar])
def test_a_bad_step_size_is_called_by_its_name(algorithm):
    names = ("policy_step_size",) if algorithm is pg else ("policy_step_size", "dual_step_size")
    for name in names:
        for value, remedy in (
            (-1.0, "must be 0 or more"),
            (np.nan, "must be finite"),
            ("fast", "must be a num"),
        ):
            with pytest.raises(InputError, match=f"^{name} = {value!r}: {remedy}"):
                algorithm(**{name: value})
        algorithm(**{name: jnp.asarray(0.5)})


def test_rows_of_a_direct_policy_stay_probabilities():
    solver = sbmd(0.3, 0.1)
    states = run(solver, first_table(), ScoreFunction(INDEXED, 2), GOAL, 30)
    table = np.asarray(states[-1].policy.table)
    np.testing.assert_allclose(table.sum(axis=1), 1, rtol=1e-12)
    assert (table > 0).all()
