"""A run from its directory. Configuration and arrays only: a run from a stranger is safe to open."""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from fenchel.errors import require
from fenchel.training.build import build, is_exact
from fenchel.training.loop import Loop
from fenchel.training.problem import Problem
from fenchel.training.result import TrainResult
from fenchel.training.rundir import RunDirectory
from fenchel.training.train import results


def load(directory: str | Path, *, own: Sequence[type] = ()) -> TrainResult:
    """The result of a run of `train` as its newest checkpoint has it.

    Arguments:
        directory: what was given as `out`.
        own: classes of yours that the run may name; all others must be fenchel's own.

    >>> import tempfile
    >>> from fenchel import train
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first = train("option", episodes=1000, batch_size=100, out=f"{folder}/run")
    ...     load(f"{folder}/run").dual == first.dual
    True
    """
    store = RunDirectory(directory)
    require((store.path / "config.json").exists(), "directory", str(directory), "holds no run")
    config = store.read_config()
    remedy = "holds a sweep; load the run of a single learner"
    require("grid" not in config, "directory", str(directory), remedy)
    remedy = "was learned on arrays that no file keeps; go on in Python, with the environment itself"
    require(is_exact(config["estimator"]), "directory", str(directory), remedy)
    problem = Problem(**{field.name: build(config[field.name], own) for field in fields(Problem)})
    loop = Loop([problem], store)
    loop.prepare()
    found = store.read_result()
    loop.status = found["status"] if found else "interrupted"
    return results(loop, config, directory)[0]
