"""Which iterate is returned: draws against their distribution, the best against a brute recomputation."""

from itertools import pairwise

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from ascent.support import DUAL, ENV, first_split, run
from scipy.stats import chisquare, kstest

from fenchel import InputError, mvp
from fenchel.ascent import (
    BestIterate,
    LastIterate,
    RobbinsMonro,
    SolverState,
    UniformIterate,
    WeightedIterate,
)
from fenchel.ascent.selection import Passage, fraction
from fenchel.estimators import ScoreFunction
from fenchel.objectives import FenchelMeanVariance

STEPS = 12
SEEDS = 6000
GOAL = FenchelMeanVariance(0.5)


def numbered(t):
    """A state whose dual is the number of the iterate."""
    policy = jax.tree.map(lambda x: jnp.full_like(x, t), first_split())
    return SolverState(policy, jnp.asarray(t, float), None)


def draws(selection, solver, steps=STEPS):
    """How often each of x₁ … x_N is returned."""

    def pick(key):
        def step(t, kept):
            passage = Passage(key, t, numbered(t + 1), numbered(t + 2), solver.step_sizes(t), GOAL)
            return selection.update(kept, passage)

        kept = jax.lax.fori_loop(0, steps, step, selection.init(numbered(0)))
        picked = selection.pick(kept, numbered(steps + 1))
        return picked.dual, picked.policy.slope[0]

    duals, slopes = jax.jit(jax.vmap(pick))(jax.random.split(jax.random.key(2), SEEDS))
    assert np.array_equal(duals, slopes)
    counts = np.bincount(np.asarray(duals, int), minlength=steps + 2)
    assert counts[0] == counts[steps + 1] == 0
    return counts[1 : steps + 1]


def test_uniform_draw_is_uniform():
    assert chisquare(draws(UniformIterate(), mvp())).pvalue > 1e-3


@pytest.mark.parametrize("smoothness", [1.0, 4.0])
def test_weighted_draw_follows_its_formula(smoothness):
    """Pr(z = t) ∝ β_t^min − (L/2)(β_t^max)², with two Robbins-Monro schedules."""
    solver = mvp(RobbinsMonro(0.3, 4.0, 0.7), RobbinsMonro(0.4, 3.0, 0.9))
    t = np.arange(STEPS)
    sizes = np.array([0.3 / (1 + t / 4) ** 0.7, 0.4 / (1 + t / 3) ** 0.9])
    weights = sizes.min(axis=0) - smoothness / 2 * sizes.max(axis=0) ** 2
    expected = np.maximum(weights, 0) / np.maximum(weights, 0).sum() * SEEDS
    counts = draws(WeightedIterate(smoothness), solver)
    assert np.array_equal(counts[expected == 0], np.zeros(np.sum(expected == 0)))
    assert chisquare(counts[expected > 0], expected[expected > 0]).pvalue > 1e-3
    assert chisquare(counts).pvalue < 1e-9


def test_a_step_size_too_large_for_its_smoothness_is_never_drawn():
    solver = mvp(RobbinsMonro(0.4, 4.0, 0.7), RobbinsMonro(0.4, 4.0, 0.7))
    counts = draws(WeightedIterate(8.0), solver)
    sizes = 0.4 / (1 + np.arange(STEPS) / 4) ** 0.7
    assert np.array_equal(counts > 0, sizes - 4 * sizes**2 > 0)
    assert counts[0] == 0


def test_last_is_the_last_and_remembers_nothing():
    selection = LastIterate()
    assert selection.init(numbered(0)) is None
    passage = Passage(jax.random.key(0), jnp.asarray(0), numbered(1), numbered(2), jnp.ones(2), GOAL)
    assert selection.update(None, passage) is None
    assert selection.pick(None, numbered(2)).dual == 2


def kept_after(selection, states, key):
    """What a selection keeps of a run, and the iterate it returns."""
    update = eqx.filter_jit(selection.update)
    kept = selection.init(states[0])
    for t, moved in enumerate(pairwise(states)):
        kept = update(kept, Passage(key, jnp.asarray(t), *moved, jnp.ones(2), GOAL))
    return kept, selection.pick(kept, states[-1])


def test_best_keeps_the_best_value_on_its_validation_batch():
    states = run(mvp(0.5, 0.3), first_split(), ScoreFunction(ENV, 1), GOAL, 40)
    validation, every, key = ScoreFunction(ENV, 64), 5, jax.random.key(9)
    kept, picked = kept_after(BestIterate(validation, every), states, key)
    values = {}
    for t in range(every, len(states), every):
        returns = np.asarray(
            validation.sample(validation.draw(key, states[t].policy), states[t].policy).returns
        )
        dual = returns.mean() + 1 / (2 * 0.5)
        values[t] = np.mean(2 * dual * (returns + 1) - dual**2 - returns**2)
    best = max(values, key=values.get)
    assert len(set(values.values())) > 2
    np.testing.assert_allclose(kept[1], values[best], rtol=1e-12)
    assert eqx.tree_equal((picked.policy, picked.dual), (states[best].policy, states[best].dual))


def test_best_of_a_run_shorter_than_its_first_look_is_the_last():
    states = run(mvp(0.5, 0.3), first_split(), ScoreFunction(ENV, 1), GOAL, 3)
    _, picked = kept_after(BestIterate(ScoreFunction(ENV, 4), 5), states, jax.random.key(0))
    assert eqx.tree_equal((picked.policy, picked.dual), (states[-1].policy, states[-1].dual))


@pytest.mark.parametrize(
    "selection", [UniformIterate(), WeightedIterate(1.0), BestIterate(ScoreFunction(ENV))]
)
def test_what_is_kept_is_one_iterate_and_one_number(selection):
    state = mvp().init(first_split(), jnp.asarray(DUAL))
    sizes = [leaf.size for leaf in jax.tree.leaves(selection.init(state))]
    assert sum(sizes) == sum(leaf.size for leaf in jax.tree.leaves(state.policy)) + 2


def test_numbers_that_make_no_sense_are_refused():
    with pytest.raises(InputError, match="smoothness"):
        WeightedIterate(0.0)
    with pytest.raises(InputError, match="every"):
        BestIterate(ScoreFunction(ENV), 0)


def test_the_number_that_decides_is_finer_than_the_chance_of_a_late_iterate():
    """With 24 bits a chance of one in ten million would become two in 2²⁴, a fifth too much."""
    numbers = np.asarray(jax.vmap(fraction)(jax.random.split(jax.random.key(2), SEEDS)))
    for uniform in (numbers, numbers * 2**24 % 1):
        assert kstest(uniform, "uniform").pvalue > 1e-3
