"""Option I measured: ‖∇f̂(x_t)‖ of MVP along Robbins-Monro steps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fenchel.errors import require, require_count
from fenchel.theory.instance import Instance
from fenchel.theory.runs import Steps, path_norms
from fenchel.theory.slopes import Slope, fit_slope
from fenchel.training import Callback


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
