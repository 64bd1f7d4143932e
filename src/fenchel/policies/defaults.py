"""The policy that suits an environment when none is named."""

import gymnasium

from fenchel.envs.base import AbstractEnvironment
from fenchel.policies.base import AbstractPolicy
from fenchel.policies.registry import make_policy


def default_policy(env: AbstractEnvironment) -> AbstractPolicy:
    """A row per state where the state is an index; linear over radial bumps where the environment names a
    grid for them; linear over the scaled observation elsewhere.

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
