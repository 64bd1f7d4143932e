"""Studies: many runs, judged on the exact scale."""

from fenchel.studies.frontiers import Frontier, frontier
from fenchel.studies.oracle import FiniteOracle, Oracle, PortfolioOracle, oracle_of
from fenchel.studies.scale import Scale

__all__ = ["FiniteOracle", "Frontier", "Oracle", "PortfolioOracle", "Scale", "frontier", "oracle_of"]
