"""The policy that suits an environment when none is named."""

from typing import Protocol

import gymnasium

from fenchel.policies.base import AbstractPolicy
from fenchel.policies.checks import HasSpaces
from fenchel.policies.grids import grid_features
from fenchel.policies.registry import make_policy


class HasFeatureGrid(HasSpaces, Protocol):
    """What a default policy is made from: an environment of fenchel, or whatever looks like one."""

    @property
    def feature_grid(self) -> tuple[tuple[float, ...], ...] | None:
        """Centres for radial features of all or the first numbers observed, where some suggest themselves."""


def default_policy(env: HasFeatureGrid) -> AbstractPolicy:
    """A row per state where the state is an index, parameters per step for continuous actions, else linear.

    The features are radial bumps where the environment names a grid for them, beside the numbers that the
    grid does not cover, scaled; without a grid they are the scaled observation.

    >>> from fenchel.envs import make
    >>> default_policy(make("option", observe="index")).table.shape
    (210, 1)
    """
    finite = isinstance(env.observation_space, gymnasium.spaces.Discrete)
    if finite and isinstance(env.action_space, gymnasium.spaces.Discrete):
        return make_policy("tabular", env)
    continuous = isinstance(env.action_space, gymnasium.spaces.Box)
    if continuous and getattr(env, "observation_tells_all", False):
        return make_policy("dated", env)
    if env.feature_grid is None:
        return make_policy("linear", env)
    features = grid_features(env.observation_space, env.feature_grid)
    return make_policy("linear", env, features=features, bias=True)
