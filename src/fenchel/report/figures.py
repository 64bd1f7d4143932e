"""Figures of a run, drawn from what it recorded."""

from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.errors import InputError
from fenchel.training.result import TrainResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BINS = 60
INK, MEAN, SPREAD = "#1b1b1b", "#1f5fa8", "#d1495b"


def plot_training(result: TrainResult, *, episodes: int = 100_000, title: str | None = None) -> "Figure":
    """Two panels: mean and standard deviation over training, and the return distribution that came of it.

    Arguments:
        result: a finished run.
        episodes: fresh episodes for the distribution.
        title: above both panels.
    """
    figure: Figure
    figure, (left, right) = pyplot().subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    _draw_learning(left, result.metrics)
    _draw_returns(right, result.returns(episodes))
    if title is not None:
        figure.suptitle(title, color=INK)
    open_axes(left, right)
    return figure


def open_axes(*panels: "Axes") -> None:
    """Frames with two sides."""
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)


def _draw_learning(axes: "Axes", metrics: dict[str, np.ndarray[Any, Any]]) -> None:
    episodes = metrics["episodes"]
    axes.plot(episodes, metrics["mean"], color=MEAN, label="mean return")
    axes.plot(episodes, metrics["std"], color=SPREAD, label="standard deviation")
    axes.set(xlabel="episodes", title="Learning")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.legend(frameon=False)


def _draw_returns(axes: "Axes", returns: np.ndarray[Any, Any]) -> None:
    """A histogram; a few far outliers are left outside, and counted."""
    low, high = np.quantile(returns, [0.001, 0.999])
    inside = returns[(returns >= low) & (returns <= high)]
    weights = np.full(len(inside), 1 / len(returns))
    axes.hist(inside, bins=BINS if high > low else 1, weights=weights, color=MEAN, alpha=0.55)
    mean, std = float(np.mean(returns, dtype=np.float64)), float(np.std(returns, dtype=np.float64))
    axes.axvline(mean, color=INK, linewidth=1.5, label=f"mean {mean:.4g}")
    span = max(mean - std, low), min(mean + std, high)
    axes.axvspan(*span, color=SPREAD, alpha=0.12, label=f"± std {std:.4g}")
    outside = len(returns) - len(inside)
    note = f" ({outside} of {len(returns):,} not shown)" if outside else ""
    axes.set(xlabel=f"return of an episode{note}", ylabel="share of episodes", title="Learned policy")
    axes.legend(frameon=False)


def pyplot() -> Any:
    """Matplotlib, drawing to files only unless a backend was chosen."""
    try:
        import matplotlib
    except ImportError:
        remedy = "needs matplotlib: pip install 'fenchel[plot]'"
        raise InputError("figure", "matplotlib", remedy) from None
    matplotlib.use("agg", force=False)
    import matplotlib.pyplot as plt

    return plt
