"""The points of a learned frontier, and the exact one where it is known."""

from typing import TYPE_CHECKING

import numpy as np

from fenchel.report.figures import INK, MEAN, SPREAD, open_axes, pyplot
from fenchel.studies.frontiers import Frontier

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_points(frontier: Frontier, *, title: str | None = None) -> "Figure":
    """Mean against standard deviation, a mark per risk aversion; small dots are the policies of all seeds.

    Arguments:
        frontier: what `fenchel.frontier` learned.
        title: above the panel.
    """
    figure: Figure
    figure, axes = pyplot().subplots(figsize=(7, 4.8), layout="constrained")
    draw_points(axes, frontier)
    axes.set_title(f"{frontier.objective}: policies by risk aversion" if title is None else title)
    return figure


def draw_points(axes: "Axes", frontier: Frontier) -> None:
    """The points and the exact frontier in one panel."""
    every = np.array([(point.std, point.mean) for point in frontier.every])
    axes.scatter(every[:, 0], every[:, 1], s=7, color=MEAN, alpha=0.4, linewidths=0, label="every seed")
    best = np.array([(point.std, point.mean) for point in frontier.points])
    order = np.argsort(best[:, 0])
    axes.plot(
        *best[order].T, color=SPREAD, marker="o", markersize=5, linewidth=1, label="best, not dominated"
    )
    for point in frontier.points:
        axes.annotate(
            f"{point.risk_aversion:g}",
            (point.std, point.mean),
            (5, -10),
            textcoords="offset points",
            fontsize=8,
            color=INK,
        )
    _draw_exact(axes, frontier)
    axes.set(xlabel="standard deviation of the return", ylabel="mean return")
    axes.legend(frameon=False, loc="lower right")
    open_axes(axes)


ROOM = 1.15
"""How far beyond the riskiest policy the exact frontier is drawn."""


def _draw_exact(axes: "Axes", frontier: Frontier) -> None:
    """The certified frontier over the range of the points, if the problem is finite."""
    if frontier.curve is None:
        return
    std, mean = map(np.asarray, frontier.curve)
    shown = std <= ROOM * max(point.std for point in frontier.every)
    axes.plot(std[shown], mean[shown], color=INK, linewidth=1, zorder=0, label="exact frontier")
