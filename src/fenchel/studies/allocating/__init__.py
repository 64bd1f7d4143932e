"""Allocation on data: markets from tables, what policies hold, and how they do beside simple rules."""

from fenchel.studies.allocating.market import Market, market
from fenchel.studies.allocating.play import play, start_state, windows
from fenchel.studies.allocating.rules import RULES, comparison, decisions, rule_of, weights_by_date

__all__ = [
    "RULES",
    "Market",
    "comparison",
    "decisions",
    "market",
    "play",
    "rule_of",
    "start_state",
    "weights_by_date",
    "windows",
]
