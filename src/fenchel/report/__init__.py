"""Report: tables and figures of finished runs. Nothing here trains."""

from fenchel.report.figures import plot_training

__all__ = ["plot_training"]
