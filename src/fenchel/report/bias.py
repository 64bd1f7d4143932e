"""The bias of the policy's direction: what it is, what the solver shows of it, and the bounds above."""

from typing import TYPE_CHECKING

import numpy as np

from fenchel.report.figures import INK, MEAN, SPREAD, open_axes, pyplot
from fenchel.theory import Bias

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ZERO = "#2a9d8f"


def plot_bias(bias: Bias, *, title: str | None = None) -> "Figure":
    """Two panels: the bias of the θ direction against β, sampled and exact; and Lemma 2's bounds above it.

    Arguments:
        bias: what `fenchel.theory.bias` measured.
        title: above both panels.
    """
    figure: Figure
    figure, (left, right) = pyplot().subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    _draw_samples(left, bias)
    _draw_lemma(right, bias)
    open_axes(left, right)
    whole = named("Bias of MVP's policy direction", bias.instance, bias.risk_aversion)
    figure.suptitle(whole if title is None else title, color=INK)
    return figure


def _draw_samples(axes: "Axes", bias: Bias) -> None:
    steps = np.array([point.step_size for point in bias.points])
    axes.plot([0, *steps], [0, *(p.shared for p in bias.points)], color=SPREAD, label="one episode, exact")
    axes.plot([0, *steps], [0, *(p.fresh for p in bias.points)], color=ZERO, label="fresh batch, exact")
    columns = {
        "one episode": ([p.sampled_shared for p in bias.points], SPREAD),
        "fresh batch": ([p.sampled_fresh for p in bias.points], ZERO),
    }
    for name, (sampled, colour) in columns.items():
        heights, errors = [one.along for one in sampled], [4 * one.error for one in sampled]
        label = f"{name}, {bias.episodes:,} steps, ± 4 s.e."
        axes.errorbar(steps, heights, errors, fmt="o", markersize=4, capsize=3, color=colour, label=label)
    axes.set(xlabel=r"step size of the dual, $\beta^y$", ylabel=r"bias along its exact direction")
    axes.set_title("Measured", fontsize=10)
    axes.set_ylim(top=1.45 * bias.slope * float(steps.max()))
    axes.legend(frameon=False, loc="upper left", fontsize=8.5)


def _draw_lemma(axes: "Axes", bias: Bias) -> None:
    steps = np.array([point.step_size for point in bias.points])
    lines = {
        rf"Lemma 2 corrected, $A = {bias.lemma.corrected:.3g}$": (bias.lemma.corrected, SPREAD, "-"),
        rf"Lemma 2 as printed, $A = {bias.lemma.printed:.3g}$": (bias.lemma.printed, INK, ":"),
        rf"range of $R^2 - JR$, $A = {bias.sharp:.3g}$": (bias.sharp, MEAN, "--"),
    }
    for label, (height, colour, style) in lines.items():
        axes.plot(steps, height * steps, color=colour, linestyle=style, linewidth=1.6, label=label)
    exact = [point.shared for point in bias.points]
    axes.plot(steps, exact, color=INK, marker="o", markersize=4, label=rf"exact, ${bias.slope:.3g}\,\beta^y$")
    axes.set(xscale="log", yscale="log", xlabel=r"step size of the dual, $\beta^y$")
    axes.set_xticks(steps[[0, len(steps) // 2, -1]], minor=False)
    axes.xaxis.set_major_formatter("{x:.3g}")
    axes.xaxis.set_minor_formatter("")
    axes.set_ylabel(r"$\|E[\Delta^\theta]\|$")
    axes.set_title("Against its bounds", fontsize=10)
    top = max(height for height, _, _ in lines.values()) * float(steps.max())
    axes.set_ylim(top=30 * top)
    axes.legend(frameon=False, loc="upper left", fontsize=8.5)


def named(what: str, instance: str, risk_aversion: float) -> str:
    """A title that says what, where and for which λ."""
    return rf"{what} ({instance}, $\lambda = {risk_aversion:g}$)"
