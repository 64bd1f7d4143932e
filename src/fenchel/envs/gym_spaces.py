"""Gymnasium's spaces as policies have them: one index or one vector seen, and actions counted from zero."""

from math import prod
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete
from numpy.typing import NDArray

from fenchel.errors import InputError, require

Space = gymnasium.Space[Any]

OBSERVATIONS = "a Box, a Discrete or a Dict of Box: flatten it first (gymnasium.wrappers.FlattenObservation)"
ACTIONS = "a Discrete, a MultiDiscrete or a Box of real numbers: wrap the environment to take one of these"


def seen_space(space: Space) -> Box | Discrete:
    """What a policy sees of observations in `space`: a `Discrete` from zero on, or a flat `Box`.

    >>> seen_space(Dict(a=Box(0, 1, (2,)), b=Box(-1, 1, (2, 2)))).shape
    (6,)
    """
    if isinstance(space, Discrete):
        return Discrete(int(space.n))
    low, high = (np.concatenate([getattr(box, end).ravel() for box in _boxes(space)]) for end in _ENDS)
    return Box(low.astype(np.float64), high.astype(np.float64), dtype=np.float64)


def seen(space: Space, observations: Any) -> NDArray[Any]:
    """A batch of observations in `space` as a policy sees it.

    >>> seen(Discrete(3, start=5), np.array([5, 7])).tolist()
    [0, 2]
    """
    if isinstance(space, Discrete):
        return np.asarray(observations) - int(space.start)
    if isinstance(space, Dict):
        parts = [np.asarray(observations[name], float) for name in space.spaces]
        return np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)
    return np.array(observations, float).reshape(len(observations), -1)  # a copy: buffers are used again


def action_space(space: Space) -> Discrete | MultiDiscrete | Box:
    """What a policy chooses from for actions in `space`.

    >>> action_space(MultiDiscrete([2, 3], start=[1, 1]))
    MultiDiscrete([2 3])
    """
    if isinstance(space, Discrete | MultiDiscrete):
        choice = np.any((space.n if isinstance(space, Discrete) else space.nvec) > 1)
        require(bool(choice), "action_space", space, "leaves nothing to choose: there is nothing to learn")
    if isinstance(space, Discrete):
        return Discrete(int(space.n))
    if isinstance(space, MultiDiscrete):
        return MultiDiscrete(space.nvec.ravel())
    real = isinstance(space, Box) and np.issubdtype(space.dtype, np.floating)
    if not isinstance(space, Box) or not real:
        raise InputError("action_space", space, f"must be {ACTIONS}")
    return Box(np.float64(space.low), np.float64(space.high), dtype=np.float64)


def taken(space: Space, actions: NDArray[Any]) -> NDArray[Any]:
    """A batch of a policy's actions as `space` has them; a `Box` clips them to its bounds.

    >>> taken(Box(-1, 1, (1,)), np.array([[3.0], [0.5]])).tolist()
    [[1.0], [0.5]]
    """
    if isinstance(space, Box):
        return np.asarray(np.minimum(np.maximum(actions, space.low), space.high), space.dtype)
    assert isinstance(space, Discrete | MultiDiscrete)
    shape = space.nvec.shape if isinstance(space, MultiDiscrete) else ()
    return np.asarray(actions.reshape(len(actions), *shape) + space.start, space.dtype)


_ENDS = ("low", "high")


def _boxes(space: Space) -> list[Box]:
    boxes = list(space.spaces.values()) if isinstance(space, Dict) else [space]
    found = [box for box in boxes if isinstance(box, Box)]
    require(len(found) == len(boxes), "observation_space", space, f"must be {OBSERVATIONS}")
    remedy = "has nothing in it: a policy needs a number to see"
    require(sum(prod(box.shape) for box in found) > 0, "observation_space", space, remedy)
    return found
