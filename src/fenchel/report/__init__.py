"""Figures, drawn from what runs recorded and from exact answers; nothing here trains."""

from fenchel.report.figures import plot_training
from fenchel.report.frontier import plot_frontier
from fenchel.report.region import plot_policy, plot_schedule

__all__ = ["plot_frontier", "plot_policy", "plot_schedule", "plot_training"]
