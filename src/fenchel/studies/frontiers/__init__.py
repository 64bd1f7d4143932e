"""Near-optimal policies over a grid of risk aversions."""

from fenchel.studies.frontiers.build import frontier
from fenchel.studies.frontiers.points import Frontier, Point

__all__ = ["Frontier", "Point", "frontier"]
