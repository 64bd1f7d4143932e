"""What a policy of a finite problem does: its actions on the tree, and the law of its return."""

from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.exact import FinitePolicy, FiniteProblem
from fenchel.policies import DirectTabular
from fenchel.report.figures import INK, MEAN, SPREAD, open_axes, pyplot

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHTS = {"AmericanOption": "price", "OptimalStopping": "cost"}
"""What the first number is that an environment on a tree shows."""

ACTIONS = {"AmericanOption": ("hold", "execute"), "OptimalStopping": ("wait", "accept")}

FAINT = "#d9d9d9"
NEVER = 1e-12
"""Probability below which a state is drawn as one that the policy does not get to."""

LARGEST, SMALLEST = 60.0, 0.4
"""Areas of a dot, in square points: from small trees to large ones."""

BARS = 200
"""Outcomes that are drawn one by one; more of them are put into as many bins."""


def plot_policy(policy: FinitePolicy, *, title: str | None = None) -> "Figure":
    """Two panels: what the policy does in every state, and the exact distribution of its return.

    Arguments:
        policy: of a finite problem; on a tree, the states are drawn at their prices.
        title: above both panels.
    """
    figure: Figure
    figure, (left, right) = pyplot().subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    draw_region(left, policy)
    left.legend(handles=legend_of(policy.problem), frameon=False, loc="upper left")
    _draw_law(right, policy)
    if title is not None:
        figure.suptitle(title, color=INK)
    open_axes(left, right)
    return figure


def draw_region(axes: "Axes", policy: FinitePolicy, *, size: float = 1.0) -> None:
    """The states by step and height, coloured by the action; grey are those that are not reached.

    Arguments:
        axes: where to draw.
        policy: of a finite problem.
        size: of the dots, relative to those of a panel of its own.
    """
    from matplotlib.ticker import MaxNLocator

    problem = policy.problem
    steps, heights, chances, reached = _states(policy)
    largest = max(layer.size for layer in problem.layers)
    area = size * float(np.clip(60_000 / (largest * problem.horizon), SMALLEST, LARGEST))
    axes.scatter(steps[~reached], heights[~reached], s=area, color=FAINT, linewidths=0, rasterized=True)
    shades = chances[reached] @ _colours(problem.actions)
    axes.scatter(steps[reached], heights[reached], s=area, c=shades, linewidths=0, rasterized=True)
    axes.set(xlabel="step", ylabel=HEIGHTS.get(problem.name, "state"), title="Policy")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if np.all(heights > 0):
        axes.set_yscale("log")


def legend_of(problem: FiniteProblem) -> list["Artist"]:
    """What the colours of the states mean."""
    from matplotlib.lines import Line2D

    names = ACTIONS.get(problem.name, tuple(f"action {action}" for action in range(problem.actions)))
    pairs = [*zip(names, _colours(problem.actions), strict=True), ("not reached", FAINT)]
    return [Line2D([], [], marker="o", linestyle="", color=colour, label=name) for name, colour in pairs]


def _states(policy: FinitePolicy) -> tuple[Any, Any, Any, Any]:
    """Step, height, probabilities of the actions and whether it is reached, of every state."""
    layers = policy.problem.layers
    steps = np.concatenate([np.full(layer.size, k) for k, layer in enumerate(layers)])
    seen = [np.asarray(layer.observations, float) for layer in layers]
    on_tree = policy.problem.name in HEIGHTS and seen[0].ndim == 2
    columns = [x[:, 0] for x in seen] if on_tree else [layer.states for layer in layers]
    reached = np.concatenate([visits.sum(axis=1) for visits in policy.visits]) > NEVER
    return steps, np.concatenate(columns).astype(float), np.concatenate(policy.chances), reached


def _colours(count: int) -> Any:
    """A colour per action; what a policy randomises over is mixed."""
    from matplotlib.colors import to_rgb

    chosen = (MEAN, SPREAD, "#2a9d8f", "#e9a23b", "#7b5ea7", "#6c757d")
    return np.array([to_rgb(chosen[action % len(chosen)]) for action in range(count)])


def _draw_law(axes: "Axes", policy: FinitePolicy) -> None:
    law = policy.law
    possible = law.probabilities > 0
    values, chances = law.values[possible], law.probabilities[possible]
    if len(values) > BARS:
        low, high = law.quantile(0.001), law.quantile(0.999)
        inside = (values >= low) & (values <= high)
        axes.hist(values[inside], bins=BARS // 3, weights=chances[inside], color=MEAN, alpha=0.55)
    else:
        axes.vlines(values, 0, chances, color=MEAN, linewidth=2)
        axes.set_ylim(0, 1.3 * float(np.max(chances)))
    axes.axvline(law.mean, color=INK, linewidth=1.5, label=f"mean {law.mean:.4g}")
    span = max(law.mean - law.std, values[0]), min(law.mean + law.std, values[-1])
    axes.axvspan(*span, color=SPREAD, alpha=0.12, label=f"± std {law.std:.4g}")
    axes.set(xlabel="return of an episode", ylabel="probability", title="Its return, exact")
    axes.legend(frameon=False, ncols=2, loc="upper left")


def plot_schedule(policy: DirectTabular, *, title: str | None = None) -> "Figure":
    """When a portfolio policy of step and rate invests, at either rate.

    Arguments:
        policy: a table whose rows are 2 · step + (rate is high).
        title: above the panel.
    """
    figure: Figure
    figure, axes = pyplot().subplots(figsize=(10, 2.6), layout="constrained")
    invest = np.asarray(policy.table)[:, 1].reshape(-1, 2)
    steps = np.arange(len(invest))
    for rate, name in enumerate(("low", "high")):
        colours = invest[:, rate, None] * _colours(2)[1] + (1 - invest[:, rate, None]) * _colours(2)[0]
        axes.scatter(steps, np.full(len(steps), rate), s=60, c=colours, linewidths=0)
        axes.text(-1.2, rate, f"rate {name}", ha="right", va="center", color=INK)
    for name, colour in zip(("keep the cash", "invest"), _colours(2), strict=True):
        axes.scatter([], [], s=30, color=colour[None], label=name)
    axes.set(xlabel="step", ylim=(-0.6, 2.1), yticks=[])
    axes.legend(frameon=False, ncols=2, loc="upper right")
    axes.spines["left"].set_visible(False)
    if title is not None:
        figure.suptitle(title, color=INK)
    open_axes(axes)
    return figure
