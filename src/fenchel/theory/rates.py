"""Option II measured: E‖∇f̂(x̄_N)‖² of MVP at constant steps c/√N, beside the theorem's bound."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fenchel.theory.assumptions import Bound, Constants
from fenchel.theory.bounds import mvp_bound
from fenchel.theory.constants import proved_constants, searched_constants
from fenchel.theory.instance import Instance
from fenchel.theory.runs import SCALE, drawn_norms
from fenchel.theory.slopes import Slope, fit_slope, interval
from fenchel.training import Callback


@dataclass(frozen=True)
class RatePoint:
    """What N episodes lead to.

    Arguments:
        iterations: N.
        step_size: c/√N, of both blocks.
        mean: of ‖∇f̂‖² at the drawn iterate, over seeds.
        low: lower end of its bootstrap interval.
        high: upper end.
        proved: `eq:thm2` with constants that are proved.
        searched: `eq:thm2` with the greatest constants that a search finds.
    """

    iterations: int
    step_size: float
    mean: float
    low: float
    high: float
    proved: Bound
    searched: Bound


@dataclass(frozen=True)
class Rates:
    """‖∇f̂(x̄_N)‖² against N, and the line through it."""

    instance: str
    risk_aversion: float
    scale: float
    seeds: int
    gap: float
    proved: Constants
    searched: Constants
    slope: Slope
    points: tuple[RatePoint, ...]

    @property
    def least_ratio(self) -> float:
        """The least bound, corrected and proved, over what was measured: above 1 where the bound holds."""
        return min(point.proved.corrected / point.mean for point in self.points)


def rates(
    instance: Instance,
    iterations: Sequence[int],
    seeds: Sequence[int],
    *,
    scale: float = SCALE,
    callbacks: Sequence[Callback] = (),
) -> Rates:
    """Run MVP for every N and every seed, and fit the rate.

    Arguments:
        instance: the problem.
        iterations: N, in episodes; two values at least.
        seeds: of the runs; the same for every N.
        scale: c of the step sizes c/√N.
        callbacks: called between the chunks of the sweeps.

    >>> from fenchel.theory import straddle
    >>> found = rates(straddle(), iterations=[100, 400], seeds=range(8))
    >>> found.least_ratio > 1
    True
    """
    values = {
        count: drawn_norms(instance, count, seeds, scale=scale, callbacks=callbacks) for count in iterations
    }
    return summarise_rates(instance, values, scale=scale)


def summarise_rates(
    instance: Instance, values: Mapping[int, Sequence[float]], *, scale: float = SCALE
) -> Rates:
    """Means, intervals, bounds and the fitted slope of what `drawn_norms` gave for each N.

    Arguments:
        instance: the problem.
        values: ‖∇f̂‖² of every seed, by N.
        scale: the c that they were run with.
    """
    counts = sorted(values)
    table = np.array([values[count] for count in counts])
    ends = interval(table, lambda means: means)
    proved, searched = proved_constants(instance), searched_constants(instance)

    def point(count: int, mean: float, low: float, high: float) -> RatePoint:
        step = scale / float(np.sqrt(count))
        bounds = (mvp_bound(one, instance.gap, count, step, step) for one in (proved, searched))
        return RatePoint(count, step, mean, low, high, *bounds)

    columns = (table.mean(axis=1), *ends)
    points = tuple(
        point(count, *map(float, numbers)) for count, *numbers in zip(counts, *columns, strict=True)
    )
    return Rates(
        instance=instance.name,
        risk_aversion=instance.risk_aversion,
        scale=scale,
        seeds=table.shape[1],
        gap=instance.gap,
        proved=proved,
        searched=searched,
        slope=fit_slope(counts, table),
        points=points,
    )
