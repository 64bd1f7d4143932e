"""Figures, drawn from what runs recorded and from exact answers; nothing here trains."""

from fenchel.report.allocation import plot_allocation
from fenchel.report.bias import plot_bias
from fenchel.report.figures import plot_training
from fenchel.report.frontier import plot_frontier
from fenchel.report.points import plot_points
from fenchel.report.region import plot_policy, plot_schedule
from fenchel.report.theory import plot_option_one, plot_rates

__all__ = [
    "plot_allocation",
    "plot_bias",
    "plot_frontier",
    "plot_option_one",
    "plot_points",
    "plot_policy",
    "plot_rates",
    "plot_schedule",
    "plot_training",
]
