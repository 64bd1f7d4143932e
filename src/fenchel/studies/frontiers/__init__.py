"""Near-optimal policies over a grid of risk aversions."""

from fenchel.studies.frontiers.build import default_seeds, frontier
from fenchel.studies.frontiers.points import Frontier, Point

__all__ = ["Frontier", "Point", "default_seeds", "frontier"]
