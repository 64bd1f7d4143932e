"""A frontier of allocation, and what one of its policies holds over time."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.report.figures import INK, open_axes, pyplot
from fenchel.report.points import draw_points
from fenchel.studies.frontiers import Frontier

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAMED = 12
"""Assets with a line of the legend; more would hide the picture."""


def plot_allocation(
    frontier: Frontier,
    weights: Sequence[Mapping[str, Any]],
    assets: Sequence[str],
    *,
    title: str | None = None,
    shown: Mapping[str, Any] | None = None,
) -> "Figure":
    """Two panels: the frontier, and mean shares of wealth by date.

    Arguments:
        frontier: of an allocation.
        weights: a row per date with the share of each asset and of cash.
        assets: their names.
        title: above both panels.
        shown: the point whose shares these are, with its "risk_aversion".
    """
    figure: Figure
    figure, (left, right) = pyplot().subplots(1, 2, figsize=(12, 4.8), layout="constrained")
    draw_points(left, frontier)
    _draw_weights(right, weights, assets)
    if shown is not None:
        right.set_title(f"mean shares of wealth, λ = {shown['risk_aversion']:g}")
    if title is not None:
        figure.suptitle(title, color=INK)
    open_axes(left, right)
    return figure


def _draw_weights(axes: "Axes", weights: Sequence[Mapping[str, Any]], assets: Sequence[str]) -> None:
    """Bars upwards for what is held, downwards for what is short or borrowed."""
    dates = np.array([row["date"] for row in weights])
    colours = pyplot().get_cmap("tab20")(np.linspace(0, 1, len(assets) + 1))
    tops, bottoms = np.zeros(len(dates)), np.zeros(len(dates))
    for place, name in enumerate([*assets, "cash"]):
        share = np.array([row[name] for row in weights])
        under = np.where(share >= 0, tops, bottoms)
        label = name if place < NAMED or name == "cash" else None
        axes.bar(dates, share, bottom=under, color=colours[place], width=0.85, label=label)
        tops, bottoms = tops + np.maximum(share, 0), bottoms + np.minimum(share, 0)
    axes.axhline(0, color=INK, linewidth=0.8)
    axes.set(xlabel="date", ylabel="share of wealth")
    axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
