"""What an exact answer is: a value, a policy that attains it, and a bound that no policy exceeds."""

from dataclasses import dataclass

from fenchel.exact.law import ReturnLaw
from fenchel.exact.policy import FinitePolicy
from fenchel.objectives.base import AbstractObjective


@dataclass(frozen=True)
class Optimum:
    """The best that any policy can do for an objective.

    Arguments:
        objective: what is maximised.
        policy: a policy that attains `value`.
        dual: the dual that belongs to it.
        value: the objective of that policy.
        lower: the same, less what rounding could have added.
        upper: what no policy exceeds, rounding included.
    """

    objective: AbstractObjective
    policy: FinitePolicy
    dual: float
    value: float
    lower: float
    upper: float

    @property
    def gap(self) -> float:
        """How far from the best the policy can be at most."""
        return self.upper - self.lower

    @property
    def law(self) -> ReturnLaw:
        """The distribution of the return under the policy."""
        return self.policy.law

    @property
    def mean(self) -> float:
        """Its mean."""
        return self.law.mean

    @property
    def std(self) -> float:
        """Its standard deviation."""
        return self.law.std
