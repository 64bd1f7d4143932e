"""The choice among what was learned, on episodes that are the same for all."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from fenchel.envs import AbstractEnvironment
from fenchel.objectives import AbstractObjective
from fenchel.policies import AbstractPolicy, without_chance
from fenchel.studies.oracle import sampled_outcomes
from fenchel.training import SweepResult

Array = np.ndarray[Any, Any]

VALIDATION_EPISODES = 8192
"""Episodes that candidates are compared on, the same for all."""

UNSURE = 0.1
"""Relative excess of a variance that may be chance."""

SURELY = 3.0
"""Standard errors by which another policy must do better to take the place of a learner's own. Among many
candidates the best on some thousand episodes is mostly luck."""


def choose(
    env: AbstractEnvironment, result: SweepResult, goals: Sequence[AbstractObjective], seeds: int
) -> list[AbstractPolicy]:
    """For each goal and seed a policy of that seed: what was learned for the goal, or what is surely better.

    Every policy is a candidate with chance and without. A learner's own is the one without, for the best
    policy mostly needs none; where it does, under a constraint, the one with.

    Arguments:
        env: with what the policies see.
        result: of learners, the seed varying fastest; the first ones are those of the goals in their order.
        goals: objectives in the units of the return.
        seeds: how many.
    """
    learned = [row.policy for row in result.rows]
    kinds = [learned, [without_chance(policy) for policy in learned]]
    played = [sampled_outcomes(env, listed, goals[0], VALIDATION_EPISODES) for listed in kinds]
    outcomes = np.stack(played).reshape(2, -1, seeds, *played[0].shape[1:])
    rows, found = outcomes.shape[1], []
    for place, goal in enumerate(goals):
        own = place if goal.has_multiplier else rows + place
        for seed in range(seeds):
            mine = outcomes[:, :, seed].reshape(2 * rows, *outcomes.shape[3:])
            kind, row = divmod(_best(goal, mine, own), rows)
            found.append(kinds[kind][row * seeds + seed])
    return found


def _best(goal: AbstractObjective, outcomes: Float[Array, "c m ..."], own: int) -> int:
    """The candidate of greatest value among those that are surely better than one's own, or that.

    On some thousand episodes a variance is known to a few per cent: under a bound, one's own stays unless it
    exceeds that by more.
    """
    if goal.has_multiplier:
        mine = jnp.asarray(outcomes[own])
        if float(goal.excess(mine, goal.best_dual(mine))) <= UNSURE:
            return own
    numbers = jax.tree.map(lambda x: jnp.asarray(x, float) if isinstance(x, float | int) else x, goal)
    worth, weights = (np.asarray(x, float) for x in _judged(numbers, jnp.asarray(outcomes)))
    worth = np.where(np.isnan(worth), -np.inf, worth)
    with np.errstate(invalid="ignore"):
        apart = np.std(weights - weights[own], axis=1) / np.sqrt(weights.shape[1])
        better = worth - worth[own] > SURELY * np.nan_to_num(apart)
    return int(np.argmax(np.where(better, worth, -np.inf))) if np.any(better) else own


@eqx.filter_jit
def _judged(goal: AbstractObjective, outcomes: Any) -> Any:
    """Value of each candidate, and what each of its episodes contributes to it."""

    def judge(sample: Any) -> Any:
        return goal.value(sample), goal.weights(sample, goal.best_dual(sample))

    return jax.lax.map(judge, outcomes)
