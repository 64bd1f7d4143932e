"""Learning a frontier: a grid of risk aversions and seeds in one program, then a choice among all of it."""

import time
from collections.abc import Callable, Iterable, Sequence
from math import isnan
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from fenchel.envs import AbstractEnvironment
from fenchel.errors import InputError, require, require_choice, require_count, require_number
from fenchel.objectives import (
    OBJECTIVES,
    AbstractObjective,
    MeanVariance,
    Surrogate,
    VarianceBound,
    make_objective,
    objective_fields,
)
from fenchel.policies import AbstractPolicy
from fenchel.settings import OBJECTIVE_FIELDS
from fenchel.studies.frontiers.choice import choose
from fenchel.studies.frontiers.points import Failure, Frontier, Point, efficient
from fenchel.studies.frontiers.starts import starts
from fenchel.studies.oracle import Oracle, Value, oracle_of, sampled_outcomes, sampled_returns
from fenchel.studies.scale import Scale
from fenchel.training import Callback, SweepResult, sweep
from fenchel.training.resolve import EnvironmentLike, resolve_environment
from fenchel.training.view import full_view

Array = np.ndarray[Any, Any]

GRID = {
    "risk_aversion": (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
    "level": (0.05, 0.1, 0.25, 0.5, 1.0),
    "benchmark": (0.0,),
}
"""Risk aversions, or levels, of a frontier where none are named."""


EVALUATION_EPISODES = 100_000
"""Fresh episodes of the policies chosen, where nothing exact is known."""

INSTEAD = {"seed": "seeds", "records": "callbacks", "algorithm": "train"}
"""What to use in the place of arguments of `train`."""

PLANE = MeanVariance | VarianceBound
"""Objectives by mean and variance: for these a point can be beaten in both. Others keep all of theirs."""

SEEDS = 4
"""Learners per risk aversion where gradients scatter much."""

EPISODES, EPISODES_PER_STATE, MOST_EPISODES = 1_000_000, 5_000, 5_000_000
"""Episodes that each learner has where nothing is said: so many, or more for many states, up to a limit."""

PATHWISE_EPISODES = 400_000
"""Episodes that each learns from where gradients come from derivatives."""

FRESH = 1
"""Seed of the evaluation; the validation has seed 0."""

MOST_STATES = 200_000
"""States up to which a frontier is measured against the exact optimum."""


def frontier(
    env: EnvironmentLike,
    *,
    objective: str | Callable[..., Any] = "mean-variance",
    grid: Sequence[float] | None = None,
    seeds: int | Sequence[int] | None = None,
    exact: bool = True,
    callbacks: Sequence[Callback] = (),
    **settings: Any,
) -> Frontier:
    """The best policies for a grid of risk aversions.

    Every pair of risk aversion and seed is learned by `bca`, all in one program. A policy gives way only to
    one of the same seed that is surely better on validation episodes, which are the same for all: one that
    was learned for a neighbouring risk aversion helps out a learner that got stuck. The best seed stands for
    its risk aversion, and what is dominated is dropped.

    Arguments:
        env: the environment or its name. Unless it is observed in some way already, policies see whatever is
            best for risk: the state, and the reward so far where it matters.
        objective: "mean-variance", "entropic", "cvar", ..., or a function ψ(R, y, λ).
        grid: risk aversions; for "cvar" levels, for "variance-bound" bounds, for "sharpe" benchmarks.
        seeds: how many, or which; by default four, or one where the environment has derivatives.
        exact: measure against the certified optimum, where there is one.
        callbacks: called between the chunks of training.
        **settings: fields of `Settings`, such as `episodes` of each pair (`default_episodes`).

    >>> found = frontier("stopping", grid=[0.1, 10.0], seeds=1, episodes=50_000)
    >>> [point.risk_aversion for point in found.points]
    [10.0]
    """
    begun = time.perf_counter()
    world = full_view(resolve_environment(env))
    axis, values = _axis(objective, grid, world)
    chosen = _seeds(default_seeds(world) if seeds is None else seeds)
    _require_free(settings, axis)
    goals = [_goal(objective, axis, value).natural() for value in values]
    settings = {"episodes": default_episodes(world), **settings}
    tried = starts(objective, world, values)
    how: dict[str, Any] = {**settings, **tried, axis: values, "seed": chosen}
    result = sweep(world, "bca", objective=objective, callbacks=callbacks, records=1, **how)
    policies = choose(world, result, goals, len(chosen))
    oracle = _oracle(world) if exact else None
    every, known = _points(world, policies, goals, values, chosen, oracle)
    best = _best_seeds(every)
    return Frontier(
        points=efficient(best) if isinstance(goals[0], PLANE) else tuple(best),
        env=world,
        objective=objective if isinstance(objective, str) else getattr(objective, "__name__", "custom"),
        exact=known,
        every=every,
        failed=tuple(_failures(result, axis)),
        curve=_curve(oracle) if isinstance(goals[0], PLANE) else None,
        seconds=time.perf_counter() - begun,
    )


def _require_free(settings: dict[str, Any], axis: str) -> None:
    for name, instead in {axis: "grid", **INSTEAD}.items():
        remedy = f"is no argument of a frontier: use {instead}"
        require(name not in settings, name, settings.get(name), remedy)


def _seeds(seeds: int | Sequence[int]) -> list[int]:
    if isinstance(seeds, int):
        require_count("seeds", seeds)
        return list(range(seeds))
    remedy = "must be a whole number of them, or which: whole numbers, each once"
    several = not isinstance(seeds, str) and isinstance(seeds, Iterable)
    chosen = list(seeds) if several else []
    whole = all(isinstance(seed, int) and not isinstance(seed, bool) for seed in chosen)
    require(bool(chosen) and whole and len(set(chosen)) == len(chosen), "seeds", seeds, remedy)
    return chosen


def _goal(objective: str | Callable[..., Any], axis: str, value: float) -> AbstractObjective:
    if isinstance(objective, str):
        return make_objective(objective, **{axis: value})
    return Surrogate(objective, value)


def default_episodes(env: AbstractEnvironment) -> int:
    """More for more states, where a table has a row for each; fewer with derivatives."""
    if env.differentiable:
        return PATHWISE_EPISODES
    states = env.state_count if env.index_tells_all else None
    return min(max(EPISODES, EPISODES_PER_STATE * (states or 0)), MOST_EPISODES)


def default_seeds(env: AbstractEnvironment) -> int:
    """One where gradients come from derivatives: they scatter so little that seeds agree."""
    return 1 if env.differentiable else SEEDS


def _axis(
    objective: str | Callable[..., Any], grid: Sequence[float] | None, env: AbstractEnvironment
) -> tuple[str, list[float]]:
    """The number of the objective that a frontier goes along."""
    names = ["risk_aversion"]
    if isinstance(objective, str):
        require_choice("objective", objective, OBJECTIVES)
        own = set(objective_fields(OBJECTIVES[objective]))
        names = [name for name in OBJECTIVE_FIELDS if name in own]
    elif isinstance(objective, AbstractObjective | type) or not callable(objective):
        remedy = "must be a name or a function ψ(R, y, λ): a frontier makes an objective for each λ"
        raise InputError("objective", type(objective).__name__, remedy)
    if len(names) != 1:
        raise InputError("objective", objective, "has no risk aversion for a frontier to go along")
    usual = (env.risk_grid if objective == "mean-variance" else None) or GRID.get(names[0])
    require(grid is not None or usual is not None, "grid", grid, f"must be given: values of {names[0]}")
    several = grid is None or (isinstance(grid, Iterable) and not isinstance(grid, str))
    require(several, "grid", grid, "must be several numbers, such as [0.1, 1.0]")
    values = [require_number("grid", value) for value in (usual or () if grid is None else grid)]
    require(len(values) > 0, "grid", values, "is empty; give at least one value")
    require(len(set(values)) == len(values), "grid", values, "holds a value twice")
    return names[0], values


def _oracle(env: AbstractEnvironment) -> Oracle | None:
    """What is exactly known of the environment, if anything is."""
    try:
        return oracle_of(env, most_states=MOST_STATES)
    except InputError:
        return None


def _points(
    env: AbstractEnvironment,
    policies: list[AbstractPolicy],
    goals: Sequence[AbstractObjective],
    values: Sequence[float],
    seeds: Sequence[int],
    oracle: Oracle | None,
) -> tuple[tuple[Point, ...], bool]:
    """What each policy is worth, where that lies on the exact scale, and whether it is exact."""
    pairs = [(goal, value, seed) for goal, value in zip(goals, values, strict=True) for seed in seeds]
    worths, known = worth_of_each(env, policies, [goal for goal, _, _ in pairs], oracle)
    scales = {value: _scale(oracle, goal) for goal, value, _ in pairs}
    points = []
    for (_, value, seed), policy, (mean, std, worth) in zip(pairs, policies, worths, strict=True):
        scale = scales[value]
        upper, score = (None, None) if scale is None else (scale.upper, float(scale.share(worth)))
        points.append(Point(value, seed, mean, std, worth, upper, score, policy))
    return tuple(points), known


def worth_of_each(
    env: AbstractEnvironment,
    policies: Sequence[AbstractPolicy],
    goals: Sequence[AbstractObjective],
    oracle: Oracle | None,
) -> tuple[list[Value], bool]:
    """Mean, standard deviation and objective of every policy, and whether all are exact or some sampled."""
    found: dict[int, Value] = {}
    known = True
    for kind in dict.fromkeys(map(type, policies)):
        rows = [row for row, policy in enumerate(policies) if type(policy) is kind]
        group, aims = [policies[row] for row in rows], [goals[row] for row in rows]
        numbers = None if oracle is None else oracle.values(group, aims)
        if numbers is None:
            known = False
            returns = sampled_returns(env, group, EVALUATION_EPISODES, FRESH)
            outcomes = returns
            if aims[0].per_step:
                outcomes = sampled_outcomes(env, group, aims[0], EVALUATION_EPISODES, FRESH)
            numbers = [_statistics(*sample) for sample in zip(returns, outcomes, aims, strict=True)]
        found |= dict(zip(rows, numbers, strict=True))
    return [found[row] for row in range(len(policies))], known


def _statistics(
    returns: Float[Array, " m"], outcomes: Float[Array, " m ..."], goal: AbstractObjective
) -> tuple[float, float, float]:
    return float(returns.mean()), float(returns.std(ddof=1)), float(goal.value(jnp.asarray(outcomes)))


def _scale(oracle: Oracle | None, goal: AbstractObjective) -> Scale | None:
    """None where nothing is known for this objective."""
    if oracle is None:
        return None
    try:
        return oracle.scale(goal)
    except InputError:
        return None


def _curve(oracle: Oracle | None) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
    """The certified frontier from the least standard deviation on."""
    found = None if oracle is None else oracle.curve()
    return None if found is None else (tuple(found[0].tolist()), tuple(found[1].tolist()))


def _best_seeds(every: Sequence[Point]) -> list[Point]:
    best: dict[float, Point] = {}
    for point in every:
        known = best.get(point.risk_aversion)
        if known is None or point.value > known.value or isnan(known.value):
            best[point.risk_aversion] = point
    return list(best.values())


def _failures(result: SweepResult, axis: str) -> list[Failure]:
    pairs = zip(result.settings, result.rows, strict=True)
    return [
        Failure(setting[axis], setting["seed"], row.fault or row.status)
        for setting, row in pairs
        if row.status == "diverged"
    ]
