"""What is known in closed form: the frontiers of allocation and of execution."""

from abc import abstractmethod
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from fenchel.envs import AbstractEnvironment, Allocation, Execution
from fenchel.errors import InputError
from fenchel.exact import affine_moments, almgren_chriss, li_ng, schedule_moments
from fenchel.exact.li_ng import require_unlimited
from fenchel.exact.problem import Array
from fenchel.objectives import AbstractObjective, MeanVariance
from fenchel.policies import AbstractPolicy, Central, DatedGaussian
from fenchel.studies.oracle import Curve, Oracle, Value
from fenchel.studies.scale import Scale

CURVE = np.geomspace(1e-3, 1e3, 121)
"""Risk aversions along the drawn frontier of execution, in those that sell over the horizon."""

STEEP = 64
"""Points of the drawn frontier of allocation, which is a straight line."""


class AnalyticOracle(Oracle):
    """What both have in common: mean-variance only, and policies judged by their moments."""

    exact = True

    @abstractmethod
    def moments(self, policy: AbstractPolicy) -> tuple[float, float] | None:
        """Mean and variance of a policy; None where they are not known."""

    def values(
        self, policies: Sequence[AbstractPolicy], goals: Sequence[AbstractObjective]
    ) -> list[Value] | None:
        """From their moments."""
        found = []
        for policy, goal in zip(policies, goals, strict=True):
            moments = self.moments(policy)
            if moments is None or not isinstance(goal.natural(), MeanVariance):
                return None
            found.append((moments[0], moments[1] ** 0.5, moments[0] - aversion(goal) * moments[1]))
        return found


class AllocationOracle(AnalyticOracle):
    """Allocation without limits and costs: the frontier of Li and Ng; 0 is cash alone.

    >>> from fenchel.envs import make
    >>> round(AllocationOracle(make("allocation"), make("allocation")).scale(MeanVariance(1.0)).upper, 6)
    10.104332
    """

    def __init__(self, env: AbstractEnvironment, allocation: Allocation):
        require_unlimited(allocation)
        self.env, self.allocation = env, allocation

    def scale(self, objective: AbstractObjective) -> Scale:
        """From cash alone to what no policy exceeds."""
        found = li_ng(self.allocation, aversion(objective))
        return Scale(found.riskless, found.value, found.value)

    def moments(self, policy: AbstractPolicy) -> tuple[float, float] | None:
        """Of policies that are affine in wealth."""
        inner = policy.policy if isinstance(policy, Central) else None
        return affine_moments(self.allocation, inner) if isinstance(inner, DatedGaussian) else None

    def curve(self) -> Curve:
        """A line: the mean gained is the standard deviation times √(1/ρ^T − 1)."""
        found = li_ng(self.allocation, 1.0)
        kept = found.ratio**self.allocation.horizon
        std = np.concatenate([[0.0], np.geomspace(1e-4, 1e4, STEEP) * self.allocation.start_wealth])
        return std, found.riskless + (1 / kept - 1) ** 0.5 * std


class ExecutionOracle(AnalyticOracle):
    """Execution by schedules: the frontier of Almgren and Chriss; 0 is selling evenly."""

    def __init__(self, env: AbstractEnvironment, execution: Execution):
        self.env, self.execution = env, execution

    def scale(self, objective: AbstractObjective) -> Scale:
        """From selling evenly to what no schedule exceeds; policies that adapt may."""
        risk_aversion = aversion(objective)
        if self.execution.adaptive:
            remedy = "has no known optimum; schedules have one: adaptive=False"
            raise InputError("adaptive", True, remedy)
        found = almgren_chriss(self.execution, risk_aversion)
        even = almgren_chriss(self.execution, 0.0)
        return Scale(even.mean - risk_aversion * even.std**2, found.value, found.value)

    def moments(self, policy: AbstractPolicy) -> tuple[float, float] | None:
        """Of schedules: policies without chance that see nothing of the price."""
        if self.execution.adaptive or not isinstance(policy, Central):
            return None
        return schedule_moments(self.execution, shares_left(self.execution, policy))

    def curve(self) -> Curve:
        """Of all schedules."""
        env = self.execution
        impact = env.temporary - env.permanent * env.period / 2
        typical = impact / (env.volatility * env.horizon * env.period) ** 2
        found = [almgren_chriss(env, float(typical * x)) for x in CURVE]
        return np.array([one.std for one in found]), np.array([one.mean for one in found])


def shares_left(env: Execution, policy: AbstractPolicy) -> Array:
    """What a policy without chance leaves after each trade."""
    state, seen = env.reset(jnp.zeros(1))
    left = []
    step = jax.jit(lambda state, action: env.step(jnp.zeros(1), state, action))
    for _ in range(env.horizon):
        state, after = step(state, policy.mode(seen))
        left.append(float(state.left) * env.shares)
        seen = after.observation
    return np.array(left)


def aversion(objective: AbstractObjective) -> float:
    """λ; an `InputError` for objectives of which nothing is known."""
    natural = objective.natural()
    if isinstance(natural, MeanVariance):
        return float(natural.risk_aversion)
    raise InputError("objective", type(natural).__name__, "has no known optimum here; mean-variance has one")
