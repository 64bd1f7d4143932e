"""Ordinary Python between chunks."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fenchel.ascent.blocks import Iterate


@dataclass(frozen=True)
class Snapshot:
    """Where a run stands. Arrays have one entry per learner."""

    iteration: int
    iterations: int
    episodes: int
    episodes_per_second: float
    seconds_left: float
    mean: np.ndarray[Any, Any]
    std: np.ndarray[Any, Any]
    dual: np.ndarray[Any, Any]
    iterates: Callable[[], Iterate]


Callback = Callable[[Snapshot], bool | None]
"""Called between chunks; an answer of True ends the run there, with status "stopped"."""
