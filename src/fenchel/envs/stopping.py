"""Optimal stopping: accept a cost now, or pay to wait for another one."""

from typing import Any, ClassVar, final

import jax.numpy as jnp
from jaxtyping import Array, Float

from fenchel.envs.parameters import parameter
from fenchel.envs.tree import AbstractPriceTree
from fenchel.errors import require_nonnegative, require_positive


@final
class OptimalStopping(AbstractPriceTree):
    """Accepting (action 1) costs min(x, cap), waiting (action 0) costs p_h; the reward is minus the cost.

    Whoever waits through all `horizon` decisions pays the cost reached then. The cap acts on the cost that
    is paid, not on the process: x itself keeps moving above it, so the tree recombines. The observation is
    [cost, step], with x uncapped.

    With the numbers of `liu2018` the cost rises so fast that accepting at once (−1.25, variance 0) beats
    every other policy, the −1.4767 of the paper's table included. `tradeoff` has a real trade-off.

    Arguments:
        start: first cost.
        up: factor of a rise.
        down: factor of a fall.
        up_probability: probability of a rise.
        horizon: number of transitions, and of decisions.
        waiting_cost: cost of every wait; not stated in `liu2018`, and taken from `chow2014`.
        cost_cap: the most that is ever paid at once; None is no cap.
        discount: factor per transition.
        start_spread: the first cost is uniform on start ± start_spread.

    Example:
        >>> import jax.numpy as jnp
        >>> from fenchel.envs import OptimalStopping
        >>> stopping = OptimalStopping()
        >>> state, observation = stopping.reset(jnp.zeros(1))
        >>> _, seen = stopping.step(jnp.zeros(1), state, jnp.asarray(1))
        >>> float(seen.reward)
        -1.25
    """

    PRESETS: ClassVar[dict[str, dict[str, Any]]] = {
        "liu2018": {},
        "chow2014": {"start": 1.0, "up": 1.5, "down": 0.8, "discount": 0.95},
        "chow2018": {"start": 1.0, "discount": 0.95, "cost_cap": 5.0},
        "tradeoff": {"up_probability": 0.35, "cost_cap": 5.0},
    }

    start: float = parameter(1.25, "first cost")
    up: float = parameter(2.0, "factor of a rise")
    down: float = parameter(0.5, "factor of a fall")
    up_probability: float = parameter(0.65, "probability of a rise")
    horizon: int = parameter(20, "number of transitions, and of decisions")
    waiting_cost: float = parameter(0.1, "cost of every wait")
    cost_cap: float | None = parameter(None, "the most that is ever paid at once; none is no cap")
    discount: float = parameter(1.0, "factor per transition")
    start_spread: float = parameter(0.0, "the first cost is uniform on start ± start_spread")

    def __check_init__(self) -> None:
        require_nonnegative("waiting_cost", self.waiting_cost)
        if self.cost_cap is not None:
            require_positive("cost_cap", self.cost_cap)

    @property
    def waiting_reward(self) -> float:
        """Minus the waiting cost."""
        return -self.waiting_cost

    def executed(self, price: Float[Array, ""]) -> Float[Array, ""]:
        """−min(x, cap)."""
        return -price if self.cost_cap is None else -jnp.minimum(price, self.cost_cap)

    def matured(self, price: Float[Array, ""]) -> Float[Array, ""]:
        """The same as accepting."""
        return self.executed(price)
