"""The experiments and the theory of Liu et al. (2018), rerun and measured against what is exactly true."""

from fenchel.studies.paper.findings import Findings
from fenchel.studies.paper.plan import FULL, QUICK, Plan
from fenchel.studies.paper.study import run_study

__all__ = ["FULL", "QUICK", "Findings", "Plan", "run_study"]
