"""How good a value is, between that of acting at random and that of the best policy."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True)
class Scale:
    """The values between which policies are judged.

    Arguments:
        uniform: the value of the policy that draws every action uniformly.
        attained: the best value known to be attained.
        upper: what no policy exceeds.

    >>> Scale(uniform=-1.0, attained=1.0, upper=1.0).share(0.9).item()
    0.95
    """

    uniform: float
    attained: float
    upper: float

    def share(self, value: Any) -> Float[np.ndarray[Any, Any], "..."]:
        """(J − J_uniform)/(J* − J_uniform): 0 for acting at random, 1 for the bound that no policy exceeds.

        Where acting at random is as good as anything, every policy that does as well has 1.
        """
        span = self.upper - self.uniform
        gained = np.asarray(value, float) - self.uniform
        return np.asarray(gained / span if span > 0 else np.where(gained >= 0, 1.0, -np.inf))
