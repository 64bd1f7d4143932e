"""The exact mean-variance frontier, and the policies at its extreme points."""

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from fenchel.exact import Constrained, Frontier
from fenchel.exact.problem import Array
from fenchel.report.figures import INK, MEAN, SPREAD, open_axes, pyplot
from fenchel.report.region import HEIGHTS, draw_region, legend_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHOWN = 3
"""Extreme policies that are drawn beside the frontier of a tree."""

FINE = 50
"""Points of the curve between two extreme points."""


def plot_frontier(
    frontier: Frontier, *, bounded: Constrained | None = None, title: str | None = None
) -> "Figure":
    """The frontier in the plane of standard deviation and mean, and on a tree some policies along it.

    Arguments:
        frontier: of a finite problem.
        bounded: the best under a bound on the variance, to be marked.
        title: above all panels.
    """
    rows = frontier.efficient()
    on_tree = frontier.problem.name in HEIGHTS
    shown = _spaced(rows) if on_tree else []
    figure: Figure = pyplot().figure(figsize=(10 if shown else 6.5, 4.8), layout="constrained")
    main, *panels = _panels(figure, len(shown))
    _draw_curve(main, frontier, rows)
    for axes, letter, row in zip(panels, "ABC", shown, strict=False):
        main.annotate(letter, (row["std"], row["mean"]), (6, -12), textcoords="offset points", color=INK)
        draw_region(axes, frontier.best(_inside(row)).policy, size=0.3)
        axes.set_title(f"{letter}: best for λ from {row['from']:.3g} to {row['to']:.3g}", fontsize=9)
        axes.set_xlabel("step" if axes is panels[-1] else "")
    if bounded is not None:
        _mark(main, bounded)
    if shown:
        handles = legend_of(frontier.problem)
        main.add_artist(main.legend(handles=handles, frameon=False, loc="upper left", title="A, B, C"))
    main.legend(frameon=False, loc="lower right")
    open_axes(main, *panels)
    if title is not None:
        figure.suptitle(title, color=INK)
    return figure


def _panels(figure: "Figure", count: int) -> list["Axes"]:
    """A large panel, and some small ones in a column beside it."""
    grid = figure.add_gridspec(max(1, count), 2 if count else 1, width_ratios=(2.2, 1) if count else None)
    return [figure.add_subplot(grid[:, 0]), *(figure.add_subplot(grid[row, 1]) for row in range(count))]


def _draw_curve(axes: "Axes", frontier: Frontier, rows: list[dict[str, float]]) -> None:
    std, mean = _between(frontier)
    axes.plot(std, mean, color=MEAN, linewidth=1, label="mixtures of neighbours")
    axes.scatter(frontier.std, frontier.mean, s=12, color=MEAN, label=f"{len(frontier)} extreme policies")
    columns = [row["std"] for row in rows], [row["mean"] for row in rows]
    axes.scatter(
        columns[0], columns[1], s=22, color=SPREAD, zorder=3, label=f"{len(rows)} of them best for some λ"
    )
    axes.set(xlabel="standard deviation of the return", ylabel="mean return", title="Exact frontier")


def _between(frontier: Frontier) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    """Mixtures of neighbours: J and M are linear between them, so their standard deviation is not."""
    places = np.linspace(0, len(frontier) - 1, FINE * (len(frontier) - 1) + 1)
    mean, second = (np.interp(places, np.arange(len(frontier)), x) for x in frontier.points.T)
    return np.sqrt(np.maximum(second - mean**2, 0)), mean + frontier.problem.centre


def _mark(axes: "Axes", bounded: Constrained) -> None:
    axes.axvline(np.sqrt(bounded.variance_at_most), color=INK, linestyle=":", linewidth=1)
    law, sure = bounded.mixture.law, bounded.deterministic.law
    axes.scatter(law.std, law.mean, marker="*", s=110, color=INK, zorder=4, label="best under the bound")
    axes.scatter(sure.std, sure.mean, marker="D", s=22, color=INK, zorder=4, label="best deterministic")


def _spaced(rows: list[dict[str, float]]) -> list[dict[str, float]]:
    """Some efficient points, evenly spread in standard deviation, the riskiest first."""
    std = np.array([row["std"] for row in rows])
    wanted = np.linspace(std.max(), std.min(), SHOWN + 1)[:SHOWN]
    chosen = dict.fromkeys(int(np.argmin(np.abs(std - level))) for level in wanted)
    return [rows[index] for index in chosen]


def _inside(row: dict[str, float]) -> float:
    """A λ for which the point is best."""
    if not np.isfinite(row["to"]):
        return 2 * row["from"] or 1.0
    return (row["from"] + row["to"]) / 2
