"""The runs behind the measurements: MVP on an instance, and the exact gradient where it got to."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd
from typing import Any

import numpy as np

from fenchel.errors import require, require_count, require_positive
from fenchel.theory.constants import proved_constants
from fenchel.theory.instance import Instance
from fenchel.training import Callback, Snapshot, sweep

SCALE = 2.0
"""c: at 100 episodes the dual moves two fifths of the way to each new return, and the theorem still holds."""

MARKS = 1000
"""Most iterations at which one run is looked at: each takes as long as thousands of episodes."""


@dataclass(frozen=True)
class Steps:
    """β_t = β/(1 + t/t₀)^a for both blocks; β ≤ ½ keeps y in its range."""

    value: float = 0.25
    offset: float = 1000.0
    exponent: float = 0.75


def drawn_norms(
    instance: Instance,
    iterations: int,
    seeds: Sequence[int],
    *,
    scale: float = SCALE,
    callbacks: Sequence[Callback] = (),
) -> tuple[float, ...]:
    """‖∇f̂(x_z)‖² of each seed after N episodes of MVP, exact at an iterate drawn by `eq:prob-z`.

    Arguments:
        instance: the problem.
        iterations: N.
        seeds: of the runs, all in one sweep.
        scale: c of the step sizes c/√N.
        callbacks: called between the chunks of the sweep.
    """
    require_count("iterations", iterations)
    require_positive("scale", scale)
    step = scale / float(np.sqrt(iterations))
    require(step <= 0.5, "scale", scale, f"must be at most √{iterations}/2, so that y stays in its range")
    result = sweep(
        instance.env,
        "mvp",
        policy="tabular",
        risk_aversion=instance.risk_aversion,
        dual=instance.first_dual,
        episodes=iterations,
        policy_step_size=step,
        dual_step_size=step,
        output="weighted",
        smoothness=proved_constants(instance).smoothness,
        seed=list(seeds),
        records=1,
        callbacks=callbacks,
    )
    tables = np.stack([np.asarray(row.policy.table)[:, 0] for row in result.rows])  # type: ignore[attr-defined]
    return tuple(instance.squared_norms(tables, np.array([row.dual for row in result.rows])).tolist())


def path_norms(
    instance: Instance,
    iterations: Sequence[int],
    seeds: Sequence[int],
    *,
    steps: Steps,
    callbacks: Sequence[Callback] = (),
) -> dict[int, tuple[float, ...]]:
    """‖∇f̂(x_t)‖ of each seed after each number of episodes.

    A run is looked at in evenly spaced iterations, at most `MARKS`; for those between them there is a shorter
    run, which is the beginning of the longer one: noise depends on seed and iteration alone.

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
        policy="tabular",
        risk_aversion=instance.risk_aversion,
        dual=instance.first_dual,
        episodes=longest,
        policy_step_size=steps.value,
        dual_step_size=steps.value,
        schedule="robbins-monro",
        offset=steps.offset,
        exponent=steps.exponent,
        seed=list(seeds),
        records=min(MARKS, longest // gcd(*iterations)),
        callbacks=(look, *callbacks),
    )
    between = sorted(set(iterations) - set(found))
    earlier = path_norms(instance, between, seeds, steps=steps, callbacks=callbacks) if between else {}
    return dict(sorted({**earlier, **found}.items()))
