"""Policies by name, built to fit the spaces of an environment."""

from collections.abc import Callable

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from fenchel.errors import InputError, require, require_choice, require_positive
from fenchel.policies.base import AbstractPolicy
from fenchel.policies.checks import HasSpaces, check_policy, require_space, several
from fenchel.policies.combined import Bias
from fenchel.policies.dated import DatedGaussian, dated_shape
from fenchel.policies.features import AbstractFeatures
from fenchel.policies.gaussian import LinearGaussian, MLPGaussian
from fenchel.policies.grids import make_features
from fenchel.policies.linear import LinearSoftmax
from fenchel.policies.mlp import MLPSoftmax, Network
from fenchel.policies.product import ProductSoftmax
from fenchel.policies.squashed import SquashedGaussian
from fenchel.policies.tabular import DirectTabular, Tabular

SQUASHED_STD = 0.5
"""First spread of a Gaussian before it is squashed: about a quarter of the width between the bounds."""


def make_policy(
    name: str,
    env: HasSpaces,
    *,
    key: Key[Array, ""] | None = None,
    features: str | AbstractFeatures | None = None,
    epsilon: float = 0.0,
    hidden: tuple[int, ...] = (32, 32),
    bias: bool | None = None,
    std: float | None = None,
    rbf_grid: tuple[int, ...] | None = None,
    rbf_centres: tuple[tuple[float, ...], ...] | None = None,
    rbf_widths: tuple[float, ...] | None = None,
) -> AbstractPolicy:
    """A first policy for an environment: uniform over finitely many actions, a Gaussian over continuous ones.

    Arguments:
        name: "tabular" or "direct" (a row per state), "linear" or "mlp" (over features),
            "dated" (continuous actions affine in what is seen, with parameters of its own for each step).
        env: whatever has an observation space and an action space.
        key: for the hidden layers of "mlp".
        features: "raw", "scaled", "rbf", "onehot", "tamar2014", or features of your own. By default the
            index of a finite state one-hot, and a box scaled in the coordinates that have bounds.
        epsilon: the least probability of an action.
        hidden: widths of the hidden layers of "mlp".
        bias: whether to append a constant feature. By default where "linear" lacks one.
        std: first standard deviation of a Gaussian; by default a quarter of the width of the action's bounds,
            or 1 where there are none.
        rbf_grid: number of centres per dimension, equally spaced over the bounds of the observation.
        rbf_centres: the centres themselves, instead.
        rbf_widths: widths of the bumps per dimension; by default the spacing of the centres.

    >>> import gymnasium
    >>> from types import SimpleNamespace
    >>> box, two = gymnasium.spaces.Box(0, 1, (2,)), gymnasium.spaces.Discrete(2)
    >>> env = SimpleNamespace(observation_space=box, action_space=two)
    >>> make_policy("linear", env, features="rbf", rbf_grid=(3, 4)).weights.shape
    (1, 12)
    """
    require_choice("policy", name, POLICIES)
    if name in ("tabular", "direct"):
        given = {"features": features, "rbf_grid": rbf_grid, "rbf_centres": rbf_centres}
        for field, value in given.items():
            require(value is None, field, value, f"a {name} policy has no features; use 'linear' or 'mlp'")
        policy = POLICIES[name](env, epsilon)
    elif name == "dated":
        require(
            features is None, "features", features, "a dated policy is affine in what is seen; use 'linear'"
        )
        policy = _dated(env, epsilon, std)
    else:
        chosen = make_features(env, features, rbf_grid, rbf_centres, rbf_widths)
        if bias or (bias is None and name == "linear" and chosen.constant is None):
            chosen = Bias(chosen)
        network = {"key": key, "hidden": hidden} if name == "mlp" else {}
        policy = POLICIES[name](env, epsilon, chosen, std, **network)
    check_policy(policy, env)
    return policy


def _tabular(env: HasSpaces, epsilon: float) -> Tabular:
    states, actions = _table_shape("tabular", env)
    return Tabular(jnp.zeros((states, actions - 1)), epsilon=epsilon)


def _direct(env: HasSpaces, epsilon: float) -> DirectTabular:
    states, actions = _table_shape("direct", env)
    remedy = "is for softmax policies; bound the probabilities of a direct policy by a proximal operator"
    require(epsilon == 0, "epsilon", epsilon, remedy)
    return DirectTabular(jnp.full((states, actions), 1 / actions))


def _linear(
    env: HasSpaces, epsilon: float, features: AbstractFeatures, std: float | None
) -> LinearSoftmax | LinearGaussian | ProductSoftmax:
    if counts := several(env.action_space):
        return _product(counts, epsilon, features, (), jax.random.key(0))
    space = require_space("action_space", env.action_space)
    if isinstance(space, gymnasium.spaces.Discrete):
        return LinearSoftmax(jnp.zeros((int(space.n) - 1, features.size)), features, epsilon=epsilon)
    centre, spread = _start(space, epsilon, std)
    constant = features.constant
    remedy = "the first mean, the middle of the action's bounds, needs a constant feature: leave bias on"
    require(constant is not None or not centre.any(), "bias", False, remedy)
    weights = jnp.tensordot(centre, jnp.asarray(constant or (0.0,) * features.size), axes=0)
    return LinearGaussian(jnp.log(spread), weights, features)


def _dated(env: HasSpaces, epsilon: float, std: float | None) -> DatedGaussian | SquashedGaussian:
    """Constant at first; squashed where all actions have bounds."""
    steps, actions, seen = dated_shape(env)
    space = require_space("action_space", env.action_space)
    assert isinstance(space, gymnasium.spaces.Box)
    centre, spread = _start(space, epsilon, std)
    first = getattr(env, "first_action", None)
    slopes = jnp.zeros((steps, actions, seen))
    low, high = (bound.tolist() for bound in (space.low, space.high))
    if not np.all(np.isfinite([low, high])):
        begin = centre if first is None else jnp.asarray(first, float)
        return DatedGaussian(jnp.log(spread), jnp.tile(begin, (steps, 1)), slopes)
    inside = DatedGaussian(jnp.full(actions, np.log(SQUASHED_STD)), jnp.zeros((steps, actions)), slopes)
    return SquashedGaussian(inside, low, high)


def _mlp(
    env: HasSpaces,
    epsilon: float,
    features: AbstractFeatures,
    std: float | None,
    *,
    key: Key[Array, ""] | None,
    hidden: tuple[int, ...],
) -> MLPSoftmax | MLPGaussian | ProductSoftmax:
    if key is None:
        raise InputError(
            "key", key, "the hidden layers are drawn at random: give a key, jax.random.key(0) say"
        )
    if counts := several(env.action_space):
        return _product(counts, epsilon, features, hidden, key)
    space = require_space("action_space", env.action_space)
    if isinstance(space, gymnasium.spaces.Discrete):
        network = Network.initial(features.size, hidden, int(space.n) - 1, key)
        return MLPSoftmax(network, features, epsilon=epsilon)
    centre, spread = _start(space, epsilon, std)
    network = Network.initial(features.size, hidden, centre.size, key, centre.ravel())
    return MLPGaussian(jnp.log(spread), network, features)


def _product(
    counts: tuple[int, ...],
    epsilon: float,
    features: AbstractFeatures,
    hidden: tuple[int, ...],
    key: Key[Array, ""],
) -> ProductSoftmax:
    """Uniform over every choice at first; without hidden layers it is linear, and the key is not used."""
    require(epsilon == 0, "epsilon", epsilon, "is for one choice among finitely many actions; leave it 0")
    outputs = sum(counts) - len(counts)
    return ProductSoftmax(Network.initial(features.size, hidden, outputs, key), features, counts)


POLICIES: dict[str, Callable[..., AbstractPolicy]] = {
    "tabular": _tabular,
    "direct": _direct,
    "linear": _linear,
    "mlp": _mlp,
    "dated": _dated,
}
"""What `make_policy` calls, by name."""


def _table_shape(name: str, env: HasSpaces) -> tuple[int, int]:
    states = require_space("observation_space", env.observation_space)
    actions = require_space("action_space", env.action_space)
    if not isinstance(states, gymnasium.spaces.Discrete):
        remedy = f"{states} is not a finite state; use make(..., observe='index'), or a linear or mlp policy"
        raise InputError("policy", name, remedy)
    if not isinstance(actions, gymnasium.spaces.Discrete):
        remedy = f"{actions} is continuous; use a linear or mlp policy, which is Gaussian there"
        raise InputError("policy", name, remedy)
    return int(states.n), int(actions.n)


def _start(
    space: gymnasium.spaces.Box, epsilon: float, std: float | None
) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """Mean and standard deviation of a Gaussian before anything is learned."""
    remedy = f"is for finitely many actions, and {space} is continuous; leave it 0"
    require(epsilon == 0, "epsilon", epsilon, remedy)
    low, high = jnp.asarray(space.low, float), jnp.asarray(space.high, float)
    bounded = jnp.isfinite(low) & jnp.isfinite(high) & (low < high)
    low, high = jnp.where(bounded, low, -2.0), jnp.where(bounded, high, 2.0)
    if std is None:
        return (low + high) / 2, (high - low) / 4
    require_positive("std", std)
    return (low + high) / 2, jnp.full(space.shape, float(std))
