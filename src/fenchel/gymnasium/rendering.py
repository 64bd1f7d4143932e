"""What a drawing goes to: an array through matplotlib's Agg canvas, or its window."""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.envs import AbstractEnvironment
from fenchel.errors import require
from fenchel.gymnasium.drawing import Moment, draw

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Image = np.ndarray[Any, np.dtype[np.uint8]]

SIZE = (6.4, 4.0)
"""Inches; a hundred dots each."""

FRAMES_PER_SECOND = 4


def require_drawing(render_mode: str) -> None:
    """Raise unless there is something to draw with."""
    remedy = "needs matplotlib: pip install 'fenchel[plot]'"
    require(find_spec("matplotlib") is not None, "render_mode", render_mode, remedy)


class Picture:
    """A figure that nobody sees but through its pixels."""

    def __init__(self) -> None:
        self.figure = self._figure()

    def _figure(self) -> "Figure":
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(SIZE, dpi=100, layout="constrained")
        FigureCanvasAgg(figure)
        return figure

    def show(self, env: AbstractEnvironment, seen: Sequence[Moment]) -> Image | None:
        """The episode so far, as height × width × (red, green, blue)."""
        draw(self.figure, env, seen)
        canvas: Any = self.figure.canvas
        canvas.draw()
        return np.array(canvas.buffer_rgba(), np.uint8)[:, :, :3].copy()

    def close(self) -> None:
        """Nothing is open."""


class Window(Picture):
    """A window of matplotlib's; where its backend has none, such as Agg, the drawing stays unseen."""

    def _figure(self) -> "Figure":
        import matplotlib.pyplot as plt

        figure = plt.figure(figsize=SIZE, dpi=100, layout="constrained")
        if _is_seen(figure):
            plt.show(block=False)
        return figure

    def show(self, env: AbstractEnvironment, seen: Sequence[Moment]) -> None:
        """Bring the window up to date, and leave time to look at it."""
        draw(self.figure, env, seen)
        self.figure.canvas.draw()
        if _is_seen(self.figure):
            self.figure.canvas.start_event_loop(1 / FRAMES_PER_SECOND)

    def close(self) -> None:
        """Close the window."""
        import matplotlib.pyplot as plt

        plt.close(self.figure)


def _is_seen(figure: "Figure") -> bool:
    return figure.canvas.required_interactive_framework is not None
