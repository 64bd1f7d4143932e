"""An American-style option: a put and a call on one asset, to be executed once."""

from typing import Any, ClassVar, final

import jax.numpy as jnp
from jaxtyping import Array, Float

from fenchel.envs.parameters import parameter
from fenchel.envs.tree import AbstractPriceTree
from fenchel.errors import require_nonnegative, require_switch


@final
class AmericanOption(AbstractPriceTree):
    """Executing (action 1) pays (K_put − x)₊ + (x − K_call)₊, holding (action 0) pays nothing.

    The price moves as in Liu et al. (2018) and Tamar et al. (2014). There are `horizon` decisions; after
    the last transition the option is executed by force, or lapses if `forced` is false.
    The observation is [price, step].

    Arguments:
        start: first price.
        up: factor of a rise.
        down: factor of a fall.
        up_probability: probability of a rise.
        horizon: number of transitions, and of decisions.
        put_strike: price below which the put pays.
        call_strike: price above which the call pays.
        forced: whether maturity executes the option; otherwise it pays nothing there.
        discount: factor per transition.
        start_spread: the first price is uniform on start ± start_spread.

    Example:
        >>> import jax.numpy as jnp
        >>> from fenchel.envs import AmericanOption
        >>> option = AmericanOption(start=0.75)
        >>> state, observation = option.reset(jnp.zeros(1))
        >>> _, seen = option.step(jnp.zeros(1), state, jnp.asarray(1))
        >>> float(seen.reward), bool(seen.terminated)
        (0.25, True)
    """

    PRESETS: ClassVar[dict[str, dict[str, Any]]] = {
        "liu2018": {},
        "tamar2014": {"discount": 0.98, "horizon": 19, "start_spread": 0.1},
    }

    start: float = parameter(1.25, "first price")
    up: float = parameter(9 / 8, "factor of a rise")
    down: float = parameter(8 / 9, "factor of a fall")
    up_probability: float = parameter(0.45, "probability of a rise")
    horizon: int = parameter(20, "number of transitions, and of decisions")
    put_strike: float = parameter(1.0, "price below which the put pays")
    call_strike: float = parameter(1.5, "price above which the call pays")
    forced: bool = parameter(True, "execute at maturity; otherwise it pays nothing there")
    discount: float = parameter(1.0, "factor per transition")
    start_spread: float = parameter(0.0, "the first price is uniform on start ± start_spread")

    def __check_init__(self) -> None:
        require_nonnegative("put_strike", self.put_strike)
        require_nonnegative("call_strike", self.call_strike)
        require_switch("forced", self.forced)

    @property
    def waiting_reward(self) -> float:
        """Holding pays nothing."""
        return 0.0

    def executed(self, price: Float[Array, ""]) -> Float[Array, ""]:
        """(K_put − x)₊ + (x − K_call)₊."""
        return jnp.maximum(self.put_strike - price, 0) + jnp.maximum(price - self.call_strike, 0)

    def matured(self, price: Float[Array, ""]) -> Float[Array, ""]:
        """The payoff if execution is forced, else 0."""
        return self.executed(price) if self.forced else jnp.zeros_like(price)
