"""What a risk-averse policy should see of an environment: whatever is best for every objective at once."""

from typing import Any

import equinox as eqx
import numpy as np
from gymnasium.spaces import Box, Discrete

from fenchel.envs import AbstractEnvironment, ObserveBins, ObserveIndex, ObserveReturn
from fenchel.envs.observe import AbstractObserver
from fenchel.estimators import Episodes, draw_rollout, rollout
from fenchel.policies import AbstractPolicy
from fenchel.policies.defaults import default_policy
from fenchel.training.keys import pilot_key

PILOT_EPISODES = 2048
"""Episodes whose rewards so far say where the bins are."""

BINS = 32
"""Bins of the reward so far."""


def full_view(env: AbstractEnvironment) -> AbstractEnvironment:
    """The environment with state, reward so far and step to be seen, in the form that is learned fastest.

    For a fixed dual, some policy of these three is optimal. An index is preferred to numbers: a table over it
    has no local optima of its own. An environment that is observed in some way already, or whose
    observation tells all, stays as it is.

    >>> from fenchel.envs import make
    >>> [type(full_view(make(name))).__name__ for name in ("option", "portfolio")]
    ['ObserveIndex', 'ObserveBins']
    """
    if isinstance(env, AbstractObserver) or env.observation_tells_all:
        return env
    finite = isinstance(env.action_space, Discrete)
    if finite and env.state_count is not None:
        return ObserveIndex(env) if env.index_tells_all else ObserveBins(env, _edges(env))
    return ObserveReturn(env) if isinstance(env.observation_space, Box) else env


def pilot_returns(env: AbstractEnvironment) -> np.ndarray[Any, Any]:
    """Returns of episodes that begin in all sorts of ways, and go on at random."""
    return np.asarray(_pilot(env, default_policy(env)).returns, float)


def _edges(env: AbstractEnvironment) -> list[float]:
    """Quantiles of the reward so far in the steps of such episodes."""
    shown = ObserveIndex(env)
    episodes = _pilot(shown, default_policy(shown))
    so_far = np.asarray(episodes.earned)[np.asarray(episodes.alive)]
    shares = np.arange(1, BINS) / BINS
    edges = np.unique(np.quantile(so_far, shares).astype(np.float32))
    return [float(edge) for edge in edges]


@eqx.filter_jit
def _pilot(env: AbstractEnvironment, policy: AbstractPolicy) -> Episodes:
    led = PILOT_EPISODES if isinstance(env.action_space, Discrete) else 0
    return rollout(env, policy, draw_rollout(pilot_key(), env, policy, PILOT_EPISODES, led))
