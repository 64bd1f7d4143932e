"""Training, once or over a grid."""

from collections.abc import Sequence
from contextlib import ExitStack, closing
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
from fenchel.training.pilot import PilotSteps
from fenchel.training.problem import Problem
from fenchel.training.progress import ProgressBar
from fenchel.training.resolve import AlgorithmLike, EnvironmentLike, ObjectiveLike, PolicyLike, resolve
from fenchel.training.result import Interrupted, SweepResult, TrainResult
from fenchel.training.rundir import RunDirectory
from fenchel.training.settings import Settings


def train(
    env: EnvironmentLike,
    algorithm: AlgorithmLike = "mvp",
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
        env: an environment, or its name.
        algorithm: the name of an algorithm ("mvp", "sga", "rcpg", "sbmd", "bsg", "pg", "tamar"), or a solver.
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
    chosen = (settings or Settings()).changed(changes)
    _require_possible(out, resume, checkpoint_seconds, records)
    pilots = _pilots(out, resume)
    problem = resolve(env, algorithm, policy, objective, chosen, pilots)
    config = {**problem.config(), "pilot": pilots.known}
    loop = _run(
        [problem],
        config,
        out,
        resume,
        progress=progress,
        callbacks=callbacks,
        checkpoint_seconds=checkpoint_seconds,
        records=records,
    )
    result = results(loop, config, out)[0]
    if loop.status == "interrupted":
        raise Interrupted(result)
    return result


def sweep(
    env: EnvironmentLike,
    algorithm: AlgorithmLike = "mvp",
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

    The arguments are those of `train`. A row equals the single run with its settings.

    >>> result = sweep("stopping", risk_aversion=[0.1, 1.0], seed=range(3), episodes=2000, batch_size=100)
    >>> len(result), result.settings[-1]
    (6, {'risk_aversion': 1.0, 'seed': 2})
    """
    grid = _grid(changes)
    base = (settings or Settings()).changed({k: v for k, v in changes.items() if k not in grid[0]})
    _require_possible(out, resume, checkpoint_seconds, records)
    pilots = _pilots(out, resume)
    problems = [resolve(env, algorithm, policy, objective, base.changed(row), pilots) for row in grid]
    config = {"base": problems[0].config(), "grid": grid, "pilot": pilots.known}
    loop = _run(
        problems,
        config,
        out,
        resume,
        progress=progress,
        callbacks=callbacks,
        checkpoint_seconds=checkpoint_seconds,
        records=records,
    )
    rows = results(loop, config, out)
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


def _require_possible(out: str | Path | None, resume: bool, checkpoint_seconds: float, records: int) -> None:
    """Refuse what cannot work before anything is compiled."""
    require_positive("checkpoint_seconds", checkpoint_seconds)
    require_count("records", records)
    require(not resume or out is not None, "resume", resume, "needs the directory of the run: give out")
    if out is not None:
        RunDirectory(out).require_place(resume)


def _pilots(out: str | Path | None, resume: bool) -> PilotSteps:
    return PilotSteps(RunDirectory(out).read_config().get("pilot", {}) if resume and out else None)


def _run(
    problems: list[Problem],
    config: dict[str, Any],
    out: str | Path | None,
    resume: bool,
    *,
    callbacks: Sequence[Callback],
    progress: bool,
    checkpoint_seconds: float,
    records: int,
) -> Loop:
    """Run the loop in its directory, if it has one."""
    with ExitStack() as stack:
        store = None if out is None else stack.enter_context(RunDirectory.open(out, config, resume))
        observers = list(callbacks)
        if progress:
            observers.append(stack.enter_context(closing(ProgressBar())))
        loop = Loop(problems, store, observers, checkpoint_seconds, records)
        loop.run()
        if store is not None:
            store.write_result({"status": loop.status, "iteration": loop.iteration})
    return loop


def results(loop: Loop, config: dict[str, Any], out: str | Path | None) -> list[TrainResult]:
    """A result per learner."""
    picked = loop.parts.iterates()
    provenance = {**manifest(fingerprint(config)), "config": config}
    faults, stopped = loop.parts.gather(lambda learner: (learner.fault, learner.stopped))
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
            episodes=loop.iteration * problem.episodes_per_iteration,
            seconds=loop.seconds,
            compile_seconds=loop.compile_seconds,
            env=problem.estimator.env,
            objective=problem.objective,
            directory=None if out is None else Path(out),
        )
        for row, problem in enumerate(loop.problems)
    ]


def _policy(problem: Problem, picked: Any, row: int) -> AbstractPolicy:
    arrays = jax.tree.map(lambda x: jnp.asarray(x[row]), eqx.filter(picked.policy, eqx.is_array))
    policy: AbstractPolicy = eqx.combine(arrays, problem.policy)
    return policy


def _fault(names: list[str], fault: int, iteration: int) -> str | None:
    return None if fault < 0 else f"{names[fault]} became non-finite in iteration {iteration}"
