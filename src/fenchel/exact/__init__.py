"""Exact answers: certified optima, the mean-variance frontier, the law of the return and its gradients."""

from fenchel.exact.almgren_chriss import ExecutionOptimum, almgren_chriss, schedule_moments
from fenchel.exact.arrays import finite_problem
from fenchel.exact.constrained import Constrained, constrained
from fenchel.exact.evaluator import Evaluator
from fenchel.exact.gradients import gradient, played
from fenchel.exact.hull import Frontier, frontier
from fenchel.exact.law import ReturnLaw
from fenchel.exact.li_ng import AllocationOptimum, affine_moments, li_ng
from fenchel.exact.optimum import Optimum
from fenchel.exact.policy import FinitePolicy, Mixture
from fenchel.exact.portfolio import (
    PortfolioOptimum,
    portfolio_gradient,
    portfolio_moments,
    portfolio_optimum,
)
from fenchel.exact.problem import FiniteProblem, Layer
from fenchel.exact.search import best
from fenchel.exact.simulator import enumerate_environment
from fenchel.exact.within import ClassOptimum, Split, class_optimum, split

__all__ = [
    "AllocationOptimum",
    "ClassOptimum",
    "Constrained",
    "Evaluator",
    "ExecutionOptimum",
    "FinitePolicy",
    "FiniteProblem",
    "Frontier",
    "Layer",
    "Mixture",
    "Optimum",
    "PortfolioOptimum",
    "ReturnLaw",
    "Split",
    "affine_moments",
    "almgren_chriss",
    "best",
    "class_optimum",
    "constrained",
    "enumerate_environment",
    "finite_problem",
    "frontier",
    "gradient",
    "li_ng",
    "played",
    "portfolio_gradient",
    "portfolio_moments",
    "portfolio_optimum",
    "schedule_moments",
    "split",
]
