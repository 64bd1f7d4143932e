"""Training: the loop around the compiled chunks, runs on disk, evaluation."""

from fenchel.training.callbacks import Callback, Snapshot
from fenchel.training.evaluate import evaluate, sample_returns
from fenchel.training.load import load
from fenchel.training.result import Interrupted, SweepResult, TrainResult
from fenchel.training.rundir import RunDirectory
from fenchel.training.sample import Evaluation
from fenchel.training.settings import Settings
from fenchel.training.train import sweep, train

__all__ = [
    "Callback",
    "Evaluation",
    "Interrupted",
    "RunDirectory",
    "Settings",
    "Snapshot",
    "SweepResult",
    "TrainResult",
    "evaluate",
    "load",
    "sample_returns",
    "sweep",
    "train",
]
