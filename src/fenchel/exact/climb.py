"""Ascent along exact gradients within a class of policies, from many starts in one compiled program."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import PyTree

from fenchel.exact.evaluator import Evaluator
from fenchel.exact.optimum import Optimum
from fenchel.objectives.base import AbstractObjective, AbstractSurrogate
from fenchel.policies.categorical import AbstractDiscrete
from fenchel.policies.tabular import DirectTabular, Tabular

IMITATE, HOLD = 0.2, 0.5
"""Shares of the iterations in which some starts imitate the certified optimum, and all hold its dual."""

TINY = 1e-30
"""Adam's ε, and the least probability in a logarithm: steps stay of one size while gradients fade."""

MEMORY = 0.9
"""Of Adam, for squares of slopes. Exact slopes have no noise to average over, and a long memory of steep ones
makes steps small when slopes fade: with 0.999 tables end up a million times as far from their optimum."""


class Guide(NamedTuple):
    """What the certified optimum tells: its dual, its actions, and how often it is in each state."""

    dual: Any
    actions: Any
    visits: Any

    @classmethod
    def of(cls, optimum: Optimum) -> "Guide":
        """What a certified optimum tells."""
        visits = np.concatenate([layer.sum(axis=1) for layer in optimum.policy.visits])
        actions = np.concatenate(optimum.policy.actions)
        return cls(*map(jnp.asarray, (optimum.dual, actions, visits / np.sum(visits))))


def softened(policy: AbstractDiscrete) -> AbstractDiscrete:
    """A table of probabilities as softmax of logits: the same class, without its edges."""
    if not isinstance(policy, DirectTabular):
        return policy
    logs = jnp.log(jnp.maximum(policy.table, 1e-3))
    return Tabular(logs[:, 1:] - logs[:, :1])


def starts_of(start: PyTree, restarts: int, spread: float, seed: int) -> PyTree:
    """The parameters given, and others around them."""
    leaves, tree = jax.tree.flatten(start)
    keys = jax.random.split(jax.random.key(seed), len(leaves))
    noise = [jax.random.normal(key, (restarts, *x.shape)) for key, x in zip(keys, leaves, strict=True)]
    moved = [x[None] + spread * n.at[0].set(0) for x, n in zip(leaves, noise, strict=True)]
    return jax.tree.unflatten(tree, moved)


@eqx.filter_jit
def climb(
    static: Any,
    evaluator: Evaluator,
    objective: AbstractObjective,
    guide: Guide,
    iterations: int,
    step_size: Any,
    starts: PyTree,
    imitates: Any,
) -> tuple[Any, PyTree]:
    """The best value that each start passes, and the parameters there."""
    adam = optax.scale_by_adam(b2=MEMORY, eps=TINY)

    def goal(params: PyTree, copies: Any, holds: Any) -> tuple[Any, Any]:
        chances = evaluator.chances(eqx.combine(params, static))
        law = evaluator.law_of(chances)
        value = evaluator.value_of(law, objective)
        held = value
        if isinstance(objective, AbstractSurrogate):
            held = jnp.where(holds, evaluator.value_of(law, objective, guide.dual), value)
        taken = jnp.take_along_axis(chances, guide.actions[:, None], axis=1)[:, 0]
        likeness = guide.visits @ jnp.log(jnp.maximum(taken, TINY))
        return jnp.where(copies, likeness, held), value

    def ascend(params: PyTree, imitates: Any) -> tuple[Any, PyTree]:
        def step(carry: Any, k: Any) -> tuple[Any, None]:
            params, memory, kept, top = carry
            done = k / iterations
            slope, value = jax.grad(goal, has_aux=True)(params, imitates & (done < IMITATE), done < HOLD)
            kept = jax.tree.map(lambda new, old: jnp.where(value > top, new, old), params, kept)
            updates, memory = adam.update(slope, memory)
            rate = step_size * (1 + jnp.cos(jnp.pi * done)) / 2
            params = jax.tree.map(lambda x, update: x + rate * update, params, updates)
            return (params, memory, kept, jnp.maximum(value, top)), None

        start = params, adam.init(params), params, -jnp.inf
        (_, _, kept, top), _ = jax.lax.scan(step, start, jnp.arange(iterations))
        return top, kept

    return jax.vmap(ascend)(starts, imitates)
