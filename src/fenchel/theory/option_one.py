"""Option I measured: ‖∇f̂(x_t)‖ of MVP along Robbins-Monro steps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fenchel.errors import require, require_count
from fenchel.theory.instance import Instance
from fenchel.theory.slopes import Slope, fit_slope
from fenchel.training import Callback, Snapshot, sweep

MARKS = 1000
"""Iterations at which a run is sure to be looked at."""


@dataclass(frozen=True)
class Steps:
    """β_t = β/(1 + t/t₀)^a for both blocks; β ≤ ½ keeps y in its range."""

    value: float = 0.25
    offset: float = 1000.0
    exponent: float = 0.75


@dataclass(frozen=True)
class OptionOnePoint:
    """‖∇f̂(x_t)‖ over seeds, after t episodes."""

    iterations: int
    step_size: float
    mean: float
    median: float
    low: float
    """The least of all seeds."""
    high: float
    """The greatest."""


@dataclass(frozen=True)
class OptionOne:
    """The norm of the gradient along the runs, and the line through its mean where the steps decay."""

    instance: str
    risk_aversion: float
    seeds: int
    steps: Steps
    slope: Slope
    points: tuple[OptionOnePoint, ...]


def option_one(
    instance: Instance,
    iterations: Sequence[int],
    seeds: Sequence[int],
    *,
    steps: Steps | None = None,
    callbacks: Sequence[Callback] = (),
) -> OptionOne:
    """Run MVP along Robbins-Monro steps, and look at the exact gradient on the way.

    Arguments:
        instance: the problem.
        iterations: when to look, in episodes; `one_two_five` gives those that cost no extra run.
        seeds: of the runs.
        steps: β, t₀ and a.
        callbacks: called between the chunks of the sweeps.

    >>> from fenchel.theory import straddle
    >>> found = option_one(straddle(), iterations=one_two_five(1000, 5000), seeds=range(4))
    >>> [point.iterations for point in found.points]
    [1000, 2000, 5000]
    """
    chosen = Steps() if steps is None else steps
    values = path_norms(instance, iterations, seeds, steps=chosen, callbacks=callbacks)
    return summarise_option_one(instance, values, steps=chosen)


def one_two_five(first: int, last: int) -> tuple[int, ...]:
    """1, 2 and 5 times the powers of ten, from `first` to `last`.

    >>> one_two_five(10, 200)
    (10, 20, 50, 100, 200)
    """
    require_count("first", first)
    require_count("last", last)
    powers = range(len(str(last)))
    return tuple(n for k in powers for n in (10**k, 2 * 10**k, 5 * 10**k) if first <= n <= last)


def path_norms(
    instance: Instance,
    iterations: Sequence[int],
    seeds: Sequence[int],
    *,
    steps: Steps,
    callbacks: Sequence[Callback] = (),
) -> dict[int, tuple[float, ...]]:
    """‖∇f̂(x_t)‖ of each seed after each number of episodes.

    A run is looked at in `MARKS` evenly spaced iterations; for those between them there is a shorter run,
    which is the beginning of the longer one: the noise of an iteration depends on seed and iteration alone.

    Arguments:
        instance: the problem.
        iterations: when to look, in episodes.
        seeds: of the runs.
        steps: β, t₀ and a.
        callbacks: called between the chunks of the sweeps.
    """
    require(len(iterations) > 0, "iterations", iterations, "is empty; give at least one value")
    require(0 < steps.value <= 0.5, "steps.value", steps.value, "must be from 0 to 1/2, to keep y in range")
    longest, found = max(iterations), dict[int, tuple[float, ...]]()

    def look(snapshot: Snapshot) -> None:
        if snapshot.iteration in iterations:
            iterate = snapshot.iterates()
            table: Any = iterate.policy.table  # type: ignore[attr-defined]
            norms = np.sqrt(instance.squared_norms(table[..., 0], np.asarray(iterate.dual)))
            found[snapshot.iteration] = tuple(norms.tolist())

    sweep(
        instance.env,
        "mvp",
        policy=instance.policy,
        risk_aversion=instance.risk_aversion,
        dual=instance.first_dual,
        episodes=longest,
        policy_step_size=steps.value,
        dual_step_size=steps.value,
        schedule="robbins-monro",
        offset=steps.offset,
        exponent=steps.exponent,
        seed=list(seeds),
        records=MARKS,
        callbacks=(look, *callbacks),
    )
    between = sorted(set(iterations) - set(found))
    earlier = path_norms(instance, between, seeds, steps=steps, callbacks=callbacks) if between else {}
    return dict(sorted({**earlier, **found}.items()))


def summarise_option_one(
    instance: Instance, values: Mapping[int, Sequence[float]], *, steps: Steps
) -> OptionOne:
    """Mean, median and range over seeds of what `path_norms` gave, and the slope from t₀ on.

    Arguments:
        instance: the problem.
        values: ‖∇f̂(x_t)‖ of every seed, by t.
        steps: β, t₀ and a of the runs.
    """
    counts = sorted(values)
    table = np.array([values[count] for count in counts])
    late = [row for row, count in enumerate(counts) if count >= steps.offset]
    require(len(late) > 1, "iterations", counts, f"two of them at least must be {steps.offset:g} or more")
    points = tuple(
        OptionOnePoint(
            iterations=count,
            step_size=steps.value * float((1 + count / steps.offset) ** -steps.exponent),
            mean=float(np.mean(row)),
            median=float(np.median(row)),
            low=float(np.min(row)),
            high=float(np.max(row)),
        )
        for count, row in zip(counts, table, strict=True)
    )
    return OptionOne(
        instance=instance.name,
        risk_aversion=instance.risk_aversion,
        seeds=table.shape[1],
        steps=steps,
        slope=fit_slope([counts[row] for row in late], table[late]),
        points=points,
    )
