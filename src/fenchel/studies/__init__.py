"""Studies: many runs, judged on the exact scale."""

from fenchel.studies.oracle import FiniteOracle, Oracle, PortfolioOracle, oracle_of
from fenchel.studies.scale import Scale

__all__ = ["FiniteOracle", "Oracle", "PortfolioOracle", "Scale", "oracle_of"]
