"""Does a policy fit an environment? Answered from shapes, before anything is compiled."""

from typing import Any, Protocol

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from fenchel.errors import InputError, require
from fenchel.policies.base import AbstractPolicy
from fenchel.policies.categorical import AbstractDiscrete
from fenchel.policies.features import OneHot
from fenchel.policies.tabular import DirectTabular, Tabular


class HasSpaces(Protocol):
    """What a policy has to fit: any environment of fenchel or of Gymnasium."""

    @property
    def observation_space(self) -> gymnasium.Space[Any]:
        """What the policy sees."""

    @property
    def action_space(self) -> gymnasium.Space[Any]:
        """What it may do."""


def require_space(field: str, space: object) -> gymnasium.spaces.Discrete | gymnasium.spaces.Box:
    """`space`, a `Discrete` counted from zero or a `Box`; a `Box` of actions holds real numbers."""
    if isinstance(space, gymnasium.spaces.Discrete):
        require(int(space.start) == 0, field, space, "must be counted from 0: use Discrete(n) without start")
        return space
    if not isinstance(space, gymnasium.spaces.Box):
        raise InputError(field, space, "must be a Box or a Discrete; flatten it first")
    real = field == "observation_space" or np.issubdtype(space.dtype, np.floating)
    require(real, field, space, "must hold real numbers; use Discrete(n) for actions that are whole numbers")
    return space


def check_policy(policy: AbstractPolicy, env: HasSpaces) -> None:
    """Raise an `InputError` of one line unless the policy takes the observations and gives the actions.

    >>> import gymnasium, jax.numpy as jnp
    >>> from types import SimpleNamespace
    >>> two = gymnasium.spaces.Discrete(2)
    >>> check_policy(Tabular(jnp.zeros((5, 1))), SimpleNamespace(observation_space=two, action_space=two))
    Traceback (most recent call last):
        ...
    fenchel.errors.InputError: policy = 'Tabular': has 5 states, and observations are Discrete(2)
    """
    observations = require_space("observation_space", env.observation_space)
    counts = several(env.action_space)
    actions = None if counts else require_space("action_space", env.action_space)
    _check_states(policy, observations)
    seen = _example(observations)
    action, chances = _trace(policy, seen, observations)
    if counts is not None:
        _check_several(policy, counts, action)
    elif isinstance(actions, gymnasium.spaces.Discrete):
        _check_discrete(policy, actions, action, chances)
    elif actions is not None:
        fits = action.shape == actions.shape and jnp.issubdtype(action.dtype, jnp.floating)
        remedy = f"gives actions {_show(action)}, and the environment takes {actions}; "
        _require(fits, policy, remedy + "use make_policy, or a Gaussian policy of that shape")


def _check_states(policy: AbstractPolicy, space: gymnasium.Space[Any]) -> None:
    features = getattr(policy, "features", None)
    if isinstance(policy, Tabular | DirectTabular):
        states = policy.table.shape[0]
        remedy = f"is a table over states, and observations are {space}; use make(..., observe='index')"
        _require(isinstance(space, gymnasium.spaces.Discrete), policy, remedy)
    elif isinstance(features, OneHot):
        states = features.size
    else:
        return
    fits = isinstance(space, gymnasium.spaces.Discrete) and int(space.n) == states
    _require(fits, policy, f"has {states} states, and observations are {space}")


def _check_discrete(
    policy: AbstractPolicy,
    space: gymnasium.spaces.Discrete,
    action: jax.ShapeDtypeStruct,
    chances: jax.ShapeDtypeStruct | None,
) -> None:
    fits = action.shape == () and jnp.issubdtype(action.dtype, jnp.integer)
    remedy = f"gives actions {_show(action)}, and the environment takes {space}; use a softmax policy"
    _require(fits, policy, remedy)
    if chances is not None:
        count = chances.shape[-1]
        remedy = f"chooses among {count} actions, and the environment takes {space}; use make_policy"
        _require(count == int(space.n), policy, remedy)


def several(space: object) -> tuple[int, ...] | None:
    """How many options each choice has where an action in `space` is several choices, counted from zero."""
    if not isinstance(space, gymnasium.spaces.MultiDiscrete):
        return None
    plain = space.nvec.ndim == 1 and not np.any(space.start)
    require(plain, "action_space", space, "must be one row of choices that are counted from 0")
    return tuple(int(count) for count in space.nvec)


def _check_several(policy: AbstractPolicy, counts: tuple[int, ...], action: jax.ShapeDtypeStruct) -> None:
    own = getattr(policy, "counts", None)
    remedy = (
        f"gives actions {_show(action)}, and the environment takes choices among {counts}; use make_policy"
    )
    _require(own == counts, policy, remedy)


def _trace(
    policy: AbstractPolicy, seen: jax.ShapeDtypeStruct, space: gymnasium.Space[Any]
) -> tuple[jax.ShapeDtypeStruct, jax.ShapeDtypeStruct | None]:
    """Shapes of an action and, of a discrete policy, of its probabilities."""

    def act(observation: Any) -> Any:
        action, _ = policy.sample(policy.draw(jax.random.key(0), ()), observation)
        return action, policy.probabilities(observation) if isinstance(policy, AbstractDiscrete) else None

    try:
        return jax.eval_shape(act, seen)  # type: ignore[no-any-return]
    except InputError as error:
        reason = f"{error.field} {error.value}: {error.remedy}"
    except (TypeError, ValueError) as error:
        reason = str(error).splitlines()[0]
    raise InputError("policy", type(policy).__name__, f"does not take observations {space}: {reason}")


def _example(space: gymnasium.Space[Any]) -> jax.ShapeDtypeStruct:
    if isinstance(space, gymnasium.spaces.Discrete):
        return jax.ShapeDtypeStruct((), jnp.int32)  # type: ignore[no-untyped-call]
    dtype = jax.dtypes.canonicalize_dtype(space.dtype)
    return jax.ShapeDtypeStruct(space.shape, dtype)  # type: ignore[no-untyped-call]


def _show(value: jax.ShapeDtypeStruct) -> str:
    return f"{value.dtype}{list(value.shape)}"


def _require(condition: bool, policy: AbstractPolicy, remedy: str) -> None:
    require(condition, "policy", type(policy).__name__, remedy)
