"""Training, once or over a grid."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from fenchel.errors import require, require_count, require_positive
from fenchel.policies.base import AbstractPolicy
from fenchel.training.callbacks import Callback
from fenchel.training.identity import fingerprint
from fenchel.training.loop import Loop
from fenchel.training.manifest import manifest
from fenchel.training.parts import require_alike
from fenchel.training.pilot import PilotSteps
from fenchel.training.problem import Problem
from fenchel.training.progress import ProgressBar
from fenchel.training.resolve import (
    AlgorithmLike,
    Draft,
    EnvironmentLike,
    ObjectiveLike,
    PolicyLike,
    draft,
)
from fenchel.training.result import Interrupted, SweepResult, TrainResult
from fenchel.training.rundir import RunDirectory
from fenchel.training.settings import Settings


def train(
    env: EnvironmentLike,
    algorithm: AlgorithmLike = None,
    *,
    policy: PolicyLike = None,
    objective: ObjectiveLike = None,
    settings: Settings | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    callbacks: Sequence[Callback] = (),
    progress: bool = False,
    checkpoint_seconds: float = 60.0,
    records: int = 100,
    **changes: Any,
) -> TrainResult:
    """Learn a policy.

    Arguments:
        env: an environment, or its name; also one of Gymnasium's, its id, or a function that makes it.
        algorithm: the name of an algorithm ("mvp", "sga", "rcpg", "sbmd", "bsg", "pg", "tamar", "bca"), or a
            solver; by default "mvp", for Gymnasium's environments "bca".
        policy: a policy, its name, or None for one that suits the environment.
        objective: an objective, its name, or None for the one the algorithm is made for.
        settings: numbers and choices of the run; their names may also be given directly, as in
            `train("option", risk_aversion=0.3, seed=1)`.
        out: directory for configuration, metrics, checkpoints and result.
        resume: go on with the run in `out`.
        callbacks: called between chunks with a `Snapshot`.
        progress: show a bar.
        checkpoint_seconds: time between checkpoints.
        records: number of records in the metrics.
        **changes: fields of `Settings`.

    >>> result = train("stopping", episodes=2000, batch_size=100, seed=1)
    >>> result.status
    'done'
    """
    course = Course(out, resume, callbacks, progress, checkpoint_seconds, records)
    chosen = (settings or Settings()).changed(changes)
    one = draft(env, algorithm, policy, objective, chosen)
    loop, (result,) = course.run([one], lambda problems: problems[0].config())
    if loop.status == "interrupted":
        raise Interrupted(result)
    return result


def sweep(
    env: EnvironmentLike,
    algorithm: AlgorithmLike = None,
    *,
    policy: PolicyLike = None,
    objective: ObjectiveLike = None,
    settings: Settings | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    callbacks: Sequence[Callback] = (),
    progress: bool = False,
    checkpoint_seconds: float = 60.0,
    records: int = 100,
    **changes: Any,
) -> SweepResult:
    """Learn many policies in one compiled program: the product of all settings given as sequences.

    The arguments are those of `train`. A row equals the single run with its settings up to floating-point
    rounding: a program for more learners may add in another order. The same sweep repeats itself to the bit.

    >>> result = sweep("stopping", risk_aversion=[0.1, 1.0], seed=range(3), episodes=2000, batch_size=100)
    >>> len(result), result.settings[-1]
    (6, {'risk_aversion': 1.0, 'seed': 2})
    """
    course = Course(out, resume, callbacks, progress, checkpoint_seconds, records)
    grid = _grid(changes)
    base = (settings or Settings()).changed({k: v for k, v in changes.items() if k not in grid[0]})
    changed = [base.changed(row) for row in grid]
    drafts = [draft(env, algorithm, policy, objective, one) for one in changed]
    loop, rows = course.run(drafts, lambda problems: {"base": problems[0].config(), "grid": grid})
    result = SweepResult(
        settings=grid,
        rows=rows,
        metrics=loop.history.metrics(),
        episodes=sum(row.episodes for row in rows),
        seconds=loop.seconds,
        compile_seconds=loop.compile_seconds,
        status=loop.status,
    )
    if loop.status == "interrupted":
        raise Interrupted(result)
    return result


def _grid(changes: dict[str, Any]) -> list[dict[str, Any]]:
    """All combinations of the settings given as sequences, the last one varying fastest."""
    axes = {name: list(value) for name, value in changes.items() if _is_axis(value)}
    for name, values in axes.items():
        require(bool(values), name, values, "is empty; give at least one value")
    return [dict(zip(axes, map(_plain, row), strict=True)) for row in product(*axes.values())]


def _is_axis(value: Any) -> bool:
    return isinstance(value, list | tuple | range | np.ndarray) or (eqx.is_array(value) and value.ndim > 0)


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


@dataclass(frozen=True)
class Course:
    """How a run is gone through: where it is kept, who watches it, how often it is saved."""

    out: str | Path | None
    resume: bool
    callbacks: Sequence[Callback]
    progress: bool
    checkpoint_seconds: float
    records: int

    def __post_init__(self) -> None:
        require_positive("checkpoint_seconds", self.checkpoint_seconds)
        require_count("records", self.records)
        kept = self.out is not None
        require(not self.resume or kept, "resume", self.resume, "needs the directory of the run: give out")
        if self.out is not None:
            RunDirectory(self.out).require_possible(self.resume)

    def run(
        self, drafts: list[Draft], describe: Callable[[list[Problem]], dict[str, Any]]
    ) -> tuple[Loop, list[TrainResult]]:
        """Learn what was drafted; nothing is measured or compiled before its place is sure."""
        require_alike([draft.problem for draft in drafts])
        with ExitStack() as stack:
            store = self._claim(stack)
            pilots = self._pilots(store)
            problems = [draft.finish(pilots) for draft in drafts]
            config = {**describe(problems), "pilot": pilots.known}
            if store is not None:
                store.begin(config)
            observers = list(self.callbacks)
            if self.progress:
                observers.append(stack.enter_context(closing(ProgressBar())))
            loop = Loop(problems, store, observers, self.checkpoint_seconds, self.records)
            loop.run()
            rows = results(loop, config, self.out)
            if store is not None:
                store.write_result(_outcome(loop, rows, single="grid" not in config))
        return loop, rows

    def _claim(self, stack: ExitStack) -> RunDirectory | None:
        if self.out is None:
            return None
        return stack.enter_context(RunDirectory.claim(self.out, self.resume))

    def _pilots(self, store: RunDirectory | None) -> PilotSteps:
        known = store.read_config().get("pilot", {}) if store is not None and self.resume else None
        return PilotSteps(known)


def _outcome(loop: Loop, rows: list[TrainResult], single: bool) -> dict[str, Any]:
    """How a run ended, as its directory says it; a sweep has a fault, or none, for each row."""
    faults = [row.fault for row in rows]
    return {
        "status": loop.status,
        "iteration": max(row.episodes for row in rows) // loop.problems[0].episodes_per_iteration,
        "episodes": sum(row.episodes for row in rows),
        "seconds": loop.seconds,
        "fault": faults[0] if single else faults,
    }


def results(loop: Loop, config: dict[str, Any], out: str | Path | None) -> list[TrainResult]:
    """A result per learner."""
    picked = loop.parts.iterates()
    provenance = {**manifest(fingerprint(config)), "config": config}
    faults, stopped = loop.parts.gather(lambda learner: (learner.fault, learner.stopped))
    iterations = np.where(faults >= 0, stopped + 1, loop.iteration)
    names = loop.parts.fault_names()
    metrics = loop.history.metrics()
    return [
        TrainResult(
            policy=_policy(problem, picked, row),
            dual=float(picked.dual[row]) if problem.objective.has_dual else None,
            status="diverged" if faults[row] >= 0 else loop.status,
            fault=_fault(names, faults[row], stopped[row]),
            metrics={
                name: column if column.ndim == 1 else column[:, row] for name, column in metrics.items()
            },
            provenance=provenance,
            episodes=int(iterations[row]) * problem.episodes_per_iteration,
            seconds=loop.seconds,
            compile_seconds=loop.compile_seconds,
            env=loop.parts.env(row),
            objective=problem.objective,
            directory=None if out is None else Path(out),
            multiplier=None if picked.multiplier is None else float(picked.multiplier[row]),
        )
        for row, problem in enumerate(loop.problems)
    ]


def _policy(problem: Problem, picked: Any, row: int) -> AbstractPolicy:
    arrays = jax.tree.map(lambda x: jnp.asarray(x[row]), eqx.filter(picked.policy, eqx.is_array))
    policy: AbstractPolicy = eqx.combine(arrays, problem.policy)
    return policy


def _fault(names: list[str], fault: int, iteration: int) -> str | None:
    return None if fault < 0 else f"{names[fault]} became non-finite in iteration {iteration}"
