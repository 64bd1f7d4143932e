"""Figures of the theory: what was measured on an exact instance, and the bound above it."""

from typing import TYPE_CHECKING

import numpy as np

from fenchel.report.bias import named
from fenchel.report.figures import INK, MEAN, SPREAD, open_axes, pyplot
from fenchel.theory import OptionOne, Rates

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

QUIET = "#8a8a8a"


def plot_rates(rates: Rates, *, title: str | None = None) -> "Figure":
    """‖∇f̂‖² at the drawn iterate against N, its fitted line, and the bounds above.

    Arguments:
        rates: what `fenchel.theory.rates` measured.
        title: above the panel.
    """
    figure, axes = _panel()
    counts = np.array([point.iterations for point in rates.points])
    means = np.array([point.mean for point in rates.points])
    ends = np.array([[point.mean - point.low, point.high - point.mean] for point in rates.points]).T
    bounds = {
        "bound as printed, proved constants": ([p.proved.printed for p in rates.points], QUIET, ":"),
        "bound corrected, proved constants": ([p.proved.corrected for p in rates.points], SPREAD, "-"),
        "bound corrected, searched constants": ([p.searched.corrected for p in rates.points], SPREAD, "--"),
    }
    for label, (heights, colour, style) in bounds.items():
        axes.plot(counts, heights, color=colour, linestyle=style, linewidth=1.6, label=label)
    slope = rates.slope
    fitted = f"fit: $N^{{{slope.value:.2f}}}$, slope in [{slope.low:.2f}, {slope.high:.2f}]"
    line = np.exp(slope.intercept) * counts**slope.value
    axes.plot(counts, line, color=MEAN, linewidth=1.2, label=fitted)
    seeds = f"measured, {rates.seeds} seeds, {slope.level:.0%} intervals"
    axes.errorbar(counts, means, ends, fmt="o", markersize=4, capsize=2.5, color=INK, label=seeds)
    axes.set(xscale="log", yscale="log", xlabel="episodes $N$, with constant steps " + _step(rates.scale))
    axes.set_ylabel(r"E $\|\nabla \hat f_\lambda(\bar x_N)\|^2$")
    axes.set_title(named("Option II", rates.instance, rates.risk_aversion) if title is None else title)
    _legend_beside(figure, axes)
    return figure


def plot_option_one(option_one: OptionOne, *, title: str | None = None) -> "Figure":
    """‖∇f̂(x_t)‖ along Robbins-Monro steps: median, mean and range of the seeds.

    Arguments:
        option_one: what `fenchel.theory.option_one` measured.
        title: above the panel.
    """
    figure, axes = _panel()
    points, slope, steps = option_one.points, option_one.slope, option_one.steps
    counts = np.array([point.iterations for point in points])
    lows, highs = [p.low for p in points], [p.high for p in points]
    label = f"range of {option_one.seeds} seeds"
    axes.fill_between(counts, lows, highs, color=MEAN, alpha=0.15, linewidth=0, label=label)
    axes.plot(counts, [p.median for p in points], color=MEAN, marker="o", markersize=4, label="median")
    axes.plot(counts, [p.mean for p in points], color=INK, linewidth=1.2, label="mean")
    late = counts[counts >= steps.offset]
    fitted = f"fit from $t_0$ on: $t^{{{slope.value:.2f}}}$, slope in [{slope.low:.2f}, {slope.high:.2f}]"
    line = np.exp(slope.intercept) * late**slope.value
    axes.plot(late, line, color=SPREAD, linestyle="--", linewidth=1.4, label=fitted)
    schedule = rf"{steps.value:g} / (1 + t / {steps.offset:g})^{{{steps.exponent:g}}}"
    axes.set(xscale="log", yscale="log", xlabel=rf"episodes $t$, with steps $\beta_t = {schedule}$")
    axes.set_ylabel(r"$\|\nabla \hat f_\lambda(x_t)\|$")
    axes.set_title(
        named("Option I", option_one.instance, option_one.risk_aversion) if title is None else title
    )
    _legend_beside(figure, axes)
    return figure


def _panel() -> "tuple[Figure, Axes]":
    figure, axes = pyplot().subplots(figsize=(10, 4.4), layout="constrained")
    return figure, axes


def _legend_beside(figure: "Figure", axes: "Axes") -> None:
    """To the right of the panel, where no line can run through it."""
    open_axes(axes)
    figure.legend(*axes.get_legend_handles_labels(), frameon=False, loc="outside right center")


def _step(scale: float) -> str:
    return rf"$\beta = {scale:g}/\sqrt{{N}}$"
