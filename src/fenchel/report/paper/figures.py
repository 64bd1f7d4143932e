"""Figures of the paper's study."""

from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.report.figures import INK, open_axes, pyplot
from fenchel.studies.paper.findings import NEAR_BEST, Findings, Row
from fenchel.studies.paper.published import AVERAGED, TABLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {"mvp": "#d1495b", "pg": "#1f5fa8", "tamar": "#2a9d8f", "sga": "#e9a23b", "rcpg": "#7b5ea7"}
WIDTHS = {"mvp": 4.2, "pg": 3.4, "tamar": 2.6, "sga": 1.8, "rcpg": 1.0}
"""Of lines: they often lie on one another."""

MARKERS = {"mvp": "o", "pg": "s", "tamar": "^", "sga": "D", "rcpg": "v"}
GREY = "#8a8a8a"

SPREADS = 3.5
"""Standard deviations to either side that a Gaussian is drawn over."""

RAREST = 1e-6
"""Probability from which a bin of a distribution is shown."""

MARGIN = 0.12
"""Room around what a panel is about, as a part of its extent."""


def plot_distributions(findings: Findings) -> "Figure":
    """Above, returns as the paper draws them, as Gaussians; below, as they are distributed."""
    domains = findings.plan.domains
    figure, panels = _grid(2, len(domains), 6.4)
    for column, domain in enumerate(domains):
        for row in findings.table(domain):
            name = row.algorithm
            _gaussian(panels[0, column], row.median.mean, row.median.std, name)
            _real(panels[1, column], findings.trials(domain, name)["histogram"], name)
        panels[0, column].set_title(domain)
        panels[1, column].set_xlabel("return of an episode")
        panels[1, column].set_ylim(bottom=RAREST)
        panels[0, column].set_xlim(*_typical(findings.table(domain)))
    panels[0, 0].set_ylabel("density, as Gaussians")
    panels[1, 0].set_ylabel("probability, as they are")
    panels[0, 0].legend(frameon=False)
    open_axes(*panels.ravel())
    return figure


def plot_frontiers(findings: Findings) -> "Figure":
    """What can be attained, what was learned, and where the paper's table would be, in std and mean."""
    domains = findings.plan.domains
    figure, panels = _grid(1, len(domains), 4.6)
    for axes, domain in zip(panels[0], domains, strict=True):
        _attainable(axes, findings, domain)
        for row in findings.table(domain):
            name, colour = row.algorithm, COLOURS[row.algorithm]
            trials = findings.trials(domain, name)
            axes.scatter(trials["std"], trials["mean"], s=4, color=colour, alpha=0.25, linewidths=0)
            spot = row.median.std, row.median.mean
            axes.scatter(*spot, s=38, color=colour, marker=MARKERS[name], edgecolor="white", zorder=4)
            paper = TABLE[domain][name]
            place = paper.std * AVERAGED**0.5, paper.mean
            axes.scatter(*place, s=38, facecolor="none", edgecolor=colour, marker=MARKERS[name], zorder=3)
        _frame(axes, findings.table(domain))
        axes.set(xlabel="standard deviation of the return", title=domain)
    panels[0, 0].set_ylabel("mean return")
    _frontier_legend(figure, findings)
    open_axes(*panels.ravel())
    return figure


def plot_tuning(findings: Findings) -> "Figure":
    """How good every pair of step sizes is, per domain and algorithm; outlined, those near the best."""
    plan = findings.plan
    size = len(plan.domains), len(plan.algorithms)
    figure, panels = _grid(*size, 2.3 * size[0] + 0.6)
    for row, domain in enumerate(plan.domains):
        cells = {name: findings.cells(domain, name).mean(axis=-1) for name in plan.algorithms}
        best = max(float(values.max()) for values in cells.values())
        for axes, (name, values) in zip(panels[row], cells.items(), strict=True):
            image = _heat(axes, values, best)
            area = findings.area(domain, name).estimate
            axes.set_title(f"{domain}, {name.upper()}: {area:.0%} near the best", fontsize=8)
            _ticks(axes, plan.policy_factors, plan.dual_steps)
        figure.colorbar(image, ax=panels[row, -1], label="share of the optimum")
    for axes in panels[-1]:
        axes.set_xlabel("step size of dual or trackers", fontsize=8)
    for axes in panels[:, 0]:
        axes.set_ylabel("step size of the policy\nover the measured one", fontsize=8)
    return figure


def _grid(rows: int, columns: int, height: float) -> tuple["Figure", Any]:
    figure: Figure
    figure, panels = pyplot().subplots(
        rows, columns, figsize=(max(6.0, 3.6 * columns), height), layout="constrained", squeeze=False
    )
    return figure, panels


def _typical(rows: list[Row]) -> tuple[float, float]:
    """Where the Gaussian of the middle algorithm is: one that failed must not hide the others."""
    middle = sorted((row.median for row in rows), key=lambda median: median.std)[len(rows) // 2]
    reach = SPREADS * (middle.std or abs(middle.mean))
    return middle.mean - reach, middle.mean + reach


def _frame(axes: "Axes", rows: list[Row]) -> None:
    """All algorithms and the paper's table, but for algorithms that failed."""
    typical = _typical(rows)
    kept = [row.median for row in rows if typical[0] <= row.median.mean <= typical[1]]
    std = [median.std for median in kept] + [row.paper.std * AVERAGED**0.5 for row in rows]
    mean = [median.mean for median in kept] + [row.paper.mean for row in rows]
    wide, high = max(std), max(mean) - min(mean)
    axes.set_xlim(-MARGIN / 2 * wide, (1 + MARGIN) * wide)
    axes.set_ylim(min(mean) - MARGIN * high, max(mean) + 2 * MARGIN * high)


def _gaussian(axes: "Axes", mean: float, std: float, name: str) -> None:
    """A standard deviation of zero is drawn as a line."""
    look: dict[str, Any] = {"color": COLOURS[name], "linewidth": WIDTHS[name], "label": name.upper()}
    if std <= 1e-9 * abs(mean):
        axes.axvline(mean, **look)
        return
    x = np.linspace(mean - SPREADS * std, mean + SPREADS * std, 200)
    density = np.exp(-(((x - mean) / std) ** 2) / 2) / (std * np.sqrt(2 * np.pi))
    axes.plot(x, density, **look)


def _real(axes: "Axes", histogram: dict[str, Any], name: str) -> None:
    axes.stairs(histogram["mass"], histogram["edges"], color=COLOURS[name], linewidth=0.7 * WIDTHS[name])
    axes.set_yscale("log")


def _attainable(axes: "Axes", findings: Findings, domain: str) -> None:
    truth = findings.truth(domain)
    curve = truth["frontier"]
    if truth["vertices"] is not None:
        std, mean = np.asarray(curve["std"]), np.asarray(curve["mean"])
        kept = mean >= mean[np.argmin(std)]
        axes.plot(std[kept], mean[kept], color=INK, linewidth=1.2, marker="." if kept.sum() == 1 else None)
        return
    axes.plot(curve["std"], curve["mean"], "x", color=INK, markersize=5)
    weights, uppers = np.asarray(truth["supports"]).T
    std = np.linspace(0, 1.6 * max(row.median.std for row in findings.table(domain)), 200)
    axes.plot(
        std, np.min(uppers + weights * std[:, None] ** 2, axis=1), color=INK, linestyle="--", linewidth=1
    )


def _frontier_legend(figure: "Figure", findings: Findings) -> None:
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=INK, label="exact frontier")]
    if "portfolio" in findings.plan.domains:
        bound = Line2D([], [], color=INK, linestyle="--", label="no policy is above")
        best = Line2D([], [], color=INK, marker="x", linestyle="", label="best schedules")
        handles += [bound, best]
    for name in findings.plan.algorithms:
        look: dict[str, Any] = {"marker": MARKERS[name], "linestyle": "", "color": COLOURS[name]}
        handles.append(Line2D([], [], label=name.upper(), **look))
    hollow: dict[str, Any] = {"marker": "o", "linestyle": "", "markerfacecolor": "none"}
    handles.append(Line2D([], [], color=GREY, label=f"the paper's, Std × √{AVERAGED}", **hollow))
    figure.legend(handles=handles, frameon=False, loc="outside lower center", ncols=5, fontsize=8)


def _heat(axes: "Axes", values: Any, best: float) -> Any:
    image = axes.imshow(values, origin="lower", aspect="auto", vmin=0, vmax=best, cmap="viridis")
    for row, column in zip(*np.nonzero(values >= NEAR_BEST * best), strict=True):
        box = pyplot().Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor="white", linewidth=1)
        axes.add_patch(box)
    return image


def _ticks(axes: "Axes", factors: tuple[float, ...], duals: tuple[float, ...]) -> None:
    for axis, numbers in ((axes.yaxis, factors), (axes.xaxis, duals)):
        every = range(0, len(numbers), 2 if len(numbers) > 4 else 1)
        axis.set_ticks(list(every), labels=[f"{numbers[i]:.2g}" for i in every], fontsize=7)
