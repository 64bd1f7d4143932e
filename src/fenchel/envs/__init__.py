"""Environments: the contract, three domains, what a policy may see of them, and a checker for any other."""

from fenchel.envs.allocation import Allocation
from fenchel.envs.base import AbstractEnvironment, AbstractUniformEnvironment, Outcomes, TimeStep
from fenchel.envs.check import check_env
from fenchel.envs.execution import Execution
from fenchel.envs.gym import GymnasiumEnvironment
from fenchel.envs.observe import ObserveBins, ObserveIndex, ObserveReturn
from fenchel.envs.option import AmericanOption
from fenchel.envs.parameters import Parameter, parameters
from fenchel.envs.portfolio import Portfolio
from fenchel.envs.registry import ENVIRONMENTS, OBSERVATIONS, make, observed
from fenchel.envs.stopping import OptimalStopping

__all__ = [
    "ENVIRONMENTS",
    "OBSERVATIONS",
    "AbstractEnvironment",
    "AbstractUniformEnvironment",
    "Allocation",
    "AmericanOption",
    "Execution",
    "GymnasiumEnvironment",
    "ObserveBins",
    "ObserveIndex",
    "ObserveReturn",
    "OptimalStopping",
    "Outcomes",
    "Parameter",
    "Portfolio",
    "TimeStep",
    "check_env",
    "make",
    "observed",
    "parameters",
]
