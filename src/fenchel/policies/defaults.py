"""The policy that suits an environment when none is named."""

from typing import Protocol

import gymnasium

from fenchel.policies.base import AbstractPolicy
from fenchel.policies.checks import HasSpaces
from fenchel.policies.registry import make_policy


class HasFeatureGrid(HasSpaces, Protocol):
    """What a default policy is made from: an environment of fenchel, or whatever looks like one."""

    @property
    def feature_grid(self) -> tuple[tuple[float, ...], ...] | None:
        """Centres for radial features of the observation, per dimension, where some suggest themselves."""


def default_policy(env: HasFeatureGrid) -> AbstractPolicy:
    """A row per state where the state is an index, else linear.

    The features are radial bumps where the environment names a grid for them, else the scaled observation.

    >>> from fenchel.envs import make
    >>> default_policy(make("option", observe="index")).table.shape
    (210, 1)
    """
    finite = isinstance(env.observation_space, gymnasium.spaces.Discrete)
    if finite and isinstance(env.action_space, gymnasium.spaces.Discrete):
        return make_policy("tabular", env)
    if env.feature_grid is None:
        return make_policy("linear", env)
    return make_policy("linear", env, features="rbf", rbf_centres=env.feature_grid, bias=True)
