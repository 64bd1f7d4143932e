"""The findings page of the paper's study and its figures, drawn from its run files."""

from fenchel.report.paper.figures import plot_distributions, plot_frontiers, plot_tuning
from fenchel.report.paper.page import write_page

__all__ = ["plot_distributions", "plot_frontiers", "plot_tuning", "write_page"]
