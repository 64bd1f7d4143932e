"""Any trainer made risk-averse: for a fixed dual the risk problem is an ordinary one."""

from typing import Any, SupportsFloat

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Box, Dict
from numpy.typing import NDArray

from fenchel.errors import (
    InputError,
    require,
    require_choice,
    require_number,
    require_positive,
    require_switch,
)
from fenchel.objectives import AbstractObjective, AbstractSurrogate, make_objective

REWARDS = ("differences", "terminal")

SO_FAR, STEP = "reward_so_far", "step"
"""What is added to an observation that is a `Dict`."""

RISK = "risk"
"""Where the last step's information has return, surrogate and dual of the episode."""


class RiskWrapper(gymnasium.Wrapper[Any, Any, Any, Any]):
    """The environment whose expected sum of rewards is E[ψ(R, y)], R being the return of the one inside.

    With the reward so far G in the observation this is an ordinary problem, for whatever trainer maximises an
    undiscounted sum. The rewards are ψ(G after, y) − ψ(G before, y), which add up to ψ(R, y) − ψ(0, y): as
    good as ψ(R, y), for the policy has no influence on the rest. Or all of ψ(R, y) comes at the end.

    Arguments:
        env: one that observes a `Box`, which is flattened, or a `Dict`, to which entries are added.
        objective: ψ, or its name.
        dual: y; by default the best one of a return of zero. Near the return to be expected is better.
        rewards: "differences" or "terminal".
        observe_step: whether the number of the step is observed as well.
        discount: factor per step on the rewards that make up R and G.

    >>> from fenchel.objectives import MeanVariance
    >>> env = RiskWrapper(gymnasium.make("CartPole-v1"), MeanVariance(0.1), dual=20.0)
    >>> env.reset(seed=0)[0].shape, round(env.step(0)[1], 3)  # 1 − 0.1 (19² − 20²)
    ((5,), 4.9)
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        objective: AbstractObjective | str,
        *,
        dual: float | None = None,
        rewards: str = "differences",
        observe_step: bool = False,
        discount: float = 1.0,
    ):
        super().__init__(env)
        require_choice("rewards", rewards, REWARDS)
        require_switch("observe_step", observe_step)
        require_positive("discount", discount)
        self.objective = make_objective(objective) if isinstance(objective, str) else objective
        remedy = "is no expectation of a surrogate ψ(R, y): choose mean-variance, cvar or entropic, say"
        surrogate = isinstance(self.objective, AbstractSurrogate) and not self.objective.per_step
        require(surrogate, "objective", type(self.objective).__name__, remedy)
        assert isinstance(self.objective, AbstractSurrogate)
        self._surrogate = jax.jit(self.objective.surrogate)
        self.rewards, self.observe_step, self.discount = rewards, observe_step, discount
        self.observation_space = _extended(env.observation_space, observe_step)
        self._begin()
        self.set_dual(float(self.objective.best_dual(jnp.zeros(1))) if dual is None else dual)
        self.dual = self._next_dual

    def set_dual(self, dual: float) -> None:
        """Set y, for the episodes to come: one that has begun is paid by the y it began with."""
        self._next_dual = require_number("dual", dual)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode, with nothing earned and the newest y."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._begin()
        self.dual = self._next_dual
        return self._shown(observation), info

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """A step that is paid in ψ; the information of the last one has what the episode came to."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        before = self._so_far
        self._so_far += self.discount**self._step * float(reward)
        self._step += 1
        over = terminated or truncated
        paid = 0.0
        if self.rewards == "differences":
            paid = self._psi(self._so_far) - self._psi(before)
        elif over:
            paid = self._psi(self._so_far)
        if over:
            told = {"return": self._so_far, "surrogate": self._psi(self._so_far), "dual": self.dual}
            info = {**info, RISK: told}
        return self._shown(observation), paid, terminated, truncated, info

    def _begin(self) -> None:
        self._so_far, self._step = 0.0, 0

    def _psi(self, ret: float) -> float:
        return float(self._surrogate(ret, self.dual))

    def _shown(self, observation: Any) -> Any:
        added = {SO_FAR: self._so_far, **({STEP: self._step} if self.observe_step else {})}
        if isinstance(self.observation_space, Dict):
            return {**observation, **{name: np.asarray([value], np.float32) for name, value in added.items()}}
        kind = self.observation_space.dtype
        numbers: NDArray[Any] = np.append(np.ravel(observation), list(added.values())).astype(kind)
        return numbers


def _extended(space: gymnasium.Space[Any], step: bool) -> Box | Dict:
    """The space with a place for the reward so far, and one for the step."""
    lows = [-np.inf, *([0.0] if step else [])]
    highs = [np.inf] * len(lows)
    if isinstance(space, Dict):
        own = {name: Box(low, np.inf, (1,)) for name, low in zip((SO_FAR, STEP), lows, strict=False)}
        taken = sorted(own.keys() & space.spaces.keys())
        require(not taken, "observation_space", taken, "are entries of the observation already: rename them")
        return Dict({**space.spaces, **own})
    if not isinstance(space, Box):
        remedy = (
            "must be a Box or a Dict: wrap the environment in gymnasium.wrappers.FlattenObservation first"
        )
        raise InputError("observation_space", space, remedy)
    kind = space.dtype if np.issubdtype(space.dtype, np.floating) else np.dtype(np.float32)
    low, high = np.append(space.low, lows).astype(kind), np.append(space.high, highs).astype(kind)
    return Box(low, high, dtype=kind.type)
