"""Gymnasium's environments: what they are made from, and what a policy sees of them and does in them."""

import functools
import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, final

import equinox as eqx
import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv
from jaxtyping import Array, Num, PyTree
from numpy.typing import NDArray

from fenchel.envs.base import AbstractEnvironment, TimeStep
from fenchel.envs.gym_sources import (
    PREFIX,
    Factory,
    Given,
    Probe,
    limited,
    probed,
    registered,
    resting,
    source_of,
)
from fenchel.envs.gym_spaces import Space, action_space, seen, seen_space
from fenchel.envs.parameters import parameter
from fenchel.errors import (
    InputError,
    require,
    require_choice,
    require_count,
    require_positive,
    require_switch,
)

UNENDED = 10_000
"""Steps after which an episode counts as one that never ends, where nobody says how long it may be."""

COPIES = 64
"""Copies in one process: what a step costs besides those of the copies is the same for one and for many."""

VECTORIZATIONS = ("sync", "async")

OBSERVED = ("state", "return")


class Norms(NamedTuple):
    """What observations and rewards are normalised by; part of what a policy was learned with."""

    shift: tuple[float, ...] = ()
    scale: tuple[float, ...] = ()
    reward: float = 1.0

    def map(self) -> Callable[[NDArray[Any]], NDArray[Any]]:
        """Puts observations at unit scale, and none of them far out."""
        if not self.scale:
            return lambda numbers: numbers
        shift, factor = np.asarray(self.shift), 1 / np.asarray(self.scale)
        return lambda numbers: ((numbers - shift) * factor).clip(-FAR, FAR)


FAR = 10.0
"""Standard deviations beyond which a normalised number is cut off."""


@final
class GymnasiumEnvironment(AbstractEnvironment):
    """An environment of Gymnasium, played on the host, some copies side by side.

    Arguments:
        source: the id of a registered environment, or a function without arguments that makes one, such as
            `functools.partial(make_env, level=3)`, or one environment, which is then played alone.
        options: arguments of `gymnasium.make`, for an id.
        horizon: steps after which an episode is cut off (truncated); by default the environment's own limit.
        discount: factor per step on the rewards that make up the return.
        copies: how many are played side by side; by default 64 in this process, or a process for each core.
        vectorization: "sync" plays them in this process, "async" each in a process of its own.
        normalise_observations: show the policy each number by its distance from the mean, in standard
            deviations, both of all that was seen before the batch.
        normalise_rewards: divide rewards by the standard deviation of the first returns. What is learned and
            reported then is in that unit, risk aversions included.
        observe: "state", or "return" for the observation with reward so far and step appended.

    >>> env = GymnasiumEnvironment("CartPole-v1")
    >>> env.horizon, env.observation_space.shape, env.action_space
    (500, (4,), Discrete(2))
    """

    name: str = eqx.field(static=True, default="")
    factory: Factory | None = eqx.field(static=True, default=None)
    options: tuple[tuple[str, Any], ...] = eqx.field(static=True, default=())
    observe: str = eqx.field(static=True, default="state")
    norms: Norms = eqx.field(static=True, default=Norms())
    cut: bool = eqx.field(static=True, default=False)
    horizon: int = parameter(None, "steps after which an episode is cut off; by default its own limit")
    discount: float = parameter(1.0, "factor per step")
    copies: int = parameter(None, "how many are played side by side; by default 64, of processes one a core")
    vectorization: str = parameter("sync", "sync, or async for a process each")
    normalise_observations: bool = parameter(True, "show observations at unit scale")
    normalise_rewards: bool = parameter(False, "divide rewards by the standard deviation of first returns")

    def __init__(
        self,
        source: "str | Factory | gymnasium.Env[Any, Any]",
        *,
        options: Mapping[str, Any] | None = None,
        horizon: int | None = None,
        discount: float = 1.0,
        copies: int | None = None,
        vectorization: str = "sync",
        normalise_observations: bool = True,
        normalise_rewards: bool = False,
        observe: str = "state",
    ):
        self.name, self.factory = source_of(source)
        self.options = tuple(sorted((options or {}).items()))
        require(not self.options or self.factory is None, "options", options, "go with an id")
        alone = isinstance(self.factory, Given) and self.factory.alone
        self.vectorization = vectorization
        most = (os.cpu_count() or 1) if vectorization == "async" else COPIES
        self.copies = (1 if alone else most) if copies is None else copies
        require(not alone or (self.copies, vectorization) == (1, "sync"), "copies", copies, _ALONE)
        self.discount, self.observe, self.norms = discount, observe, Norms()
        self.normalise_observations, self.normalise_rewards = normalise_observations, normalise_rewards
        if horizon is not None:
            require_count("horizon", horizon)
        self.cut = horizon is not None
        self.horizon = horizon or self._probe.limit or UNENDED

    def __check_init__(self) -> None:
        require_count("horizon", self.horizon)
        require_count("copies", self.copies)
        require_positive("discount", self.discount)
        require_choice("vectorization", self.vectorization, VECTORIZATIONS)
        require_choice("observe", self.observe, OBSERVED)
        for field in ("normalise_observations", "normalise_rewards"):
            require_switch(field, getattr(self, field))
        box = isinstance(self.observation_space, Box)
        remedy = f"appends to a Box, and observations are {self._probe.observations}"
        require(self.observe == "state" or box, "observe", self.observe, remedy)
        action_space(self._probe.actions)

    @property
    def observation_space(self) -> Box | Discrete:
        """A flat box, without bounds where observations are normalised; or an index."""
        space = seen_space(self._probe.observations)
        if isinstance(space, Discrete):
            return space
        extra = ([-np.inf, 0], [np.inf, self.horizon]) if self.observe == "return" else ([], [])
        low, high = np.append(space.low, extra[0]), np.append(space.high, extra[1])
        if self.normalise_observations:
            low, high = np.full(low.shape, -np.inf), np.full(high.shape, np.inf)
        return Box(low, high, dtype=np.float64)

    @property
    def action_space(self) -> Discrete | MultiDiscrete | Box:
        """The environment's own, counted from zero."""
        return action_space(self._probe.actions)

    def reset(self, noise: PyTree) -> tuple[PyTree, Num[Array, "..."]]:
        """Refused: this environment is no pure function."""
        raise InputError("env", self.name, _HOST_ONLY)

    def step(self, noise: PyTree, state: PyTree, action: Num[Array, "..."]) -> tuple[PyTree, TimeStep]:
        """Refused, too."""
        raise InputError("env", self.name, _HOST_ONLY)

    def draw(self, key: Array, shape: tuple[int, ...]) -> PyTree:
        """Refused, too."""
        raise InputError("env", self.name, _HOST_ONLY)

    def vector(self, copies: int) -> VectorEnv[Any, Any, Any]:
        """So many of them as one of Gymnasium's vector environments; an ended episode is reset at once."""
        makers = [self.maker] * copies
        mode = AutoresetMode.SAME_STEP
        if self.vectorization == "async" and copies > 1:
            # A fork would inherit JAX's threads in whatever state they are, and hang.
            return AsyncVectorEnv(makers, autoreset_mode=mode, context="spawn")
        makers = [functools.partial(resting, maker) for maker in makers]
        return SyncVectorEnv(makers, copy=False, autoreset_mode=mode)

    @property
    def maker(self) -> Factory:
        """Makes one copy; one that is cut off at the horizon, if one was given."""
        limit = self.horizon if self.cut else None
        if self.factory is not None:
            return self.factory if limit is None else functools.partial(limited, self.factory, limit)
        how = {"disable_env_checker": True, "max_episode_steps": limit, **dict(self.options)}
        return functools.partial(gymnasium.make, registered(self.name), **how)

    def shown(self, observation: Any) -> NDArray[Any]:
        """What the policy sees of one observation of the environment; for playing it elsewhere.

        >>> GymnasiumEnvironment("CartPole-v1").shown(np.ones(4, np.float32)).tolist()
        [1.0, 1.0, 1.0, 1.0]
        """
        require(self.observe == "state", "observe", self.observe, "shows more than the observation")
        if isinstance(observation, Mapping):
            batch: Any = {name: np.asarray(part)[None] for name, part in observation.items()}
        else:
            batch = np.asarray(observation)[None]
        single: NDArray[Any] = self.norms.map()(seen(self._probe.observations, batch))[0]
        return single

    @property
    def spaces(self) -> tuple[Space, Space]:
        """Observations and actions as the environment itself has them."""
        return self._probe.observations, self._probe.actions

    @property
    def normalises(self) -> bool:
        """Whether observations are shown at another scale; an index is not."""
        return self.normalise_observations and self.observation_space.shape != ()

    def normed(self, norms: Norms) -> "GymnasiumEnvironment":
        """The same, seen as `norms` say."""
        twin = object.__new__(type(self))
        for name, value in {**vars(self), "norms": norms}.items():
            object.__setattr__(twin, name, value)
        return twin

    def refuse_endless(self) -> None:
        """Raise, as an episode did not end."""
        remedy = (
            f"an episode of {self.name} was not over after {self.horizon:,} steps; say where to cut it off"
        )
        raise InputError("horizon", None, remedy)

    @property
    def _probe(self) -> Probe:
        """What one copy says of itself; it is made once."""
        if self.factory is not None:
            return probed(self.name, self.factory, ())
        try:
            return probed(self.name, None, self.options)
        except TypeError as error:
            raise InputError("options", dict(self.options), f"do not fit {self.name} ({error})") from None
        except gymnasium.error.Error as error:
            raise InputError("env", f"{PREFIX}{self.name}", f"cannot be made: {error}") from None


_ALONE = "must be 1, in this process: the environment cannot be copied; give a function that makes it"
_HOST_ONLY = "is played by Gymnasium and is no pure function, which this needs; take one of fenchel's own"
