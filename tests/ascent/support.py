"""What the tests of solvers share: a policy with two leaves, and a run of a solver beside its reference."""

from itertools import islice

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from fenchel import make
from fenchel.policies import AbstractCategorical, DirectTabular

HORIZON = 5
ENV = make("option", horizon=HORIZON, up_probability=0.5)
INDEXED = make("option", horizon=HORIZON, up_probability=0.5, observe="index")
DUAL = 0.4
KEY = jax.random.key(3)


class Split(AbstractCategorical):
    """Logit `slope` · price + `steps`[step]: two leaves that can be two blocks."""

    slope: Float[Array, " one"]
    steps: Float[Array, " horizon"]

    def logits(self, observation):
        now = jnp.clip(observation[1].astype(jnp.int32), 0, HORIZON - 1)
        return self.slope * observation[0] + self.steps[now]


def first_split():
    return Split(jnp.array([-0.3]), jnp.linspace(-0.5, 0.5, HORIZON))


def first_table():
    return DirectTabular(jnp.full((INDEXED.state_count, 2), 0.5))


def flat(policy):
    """θ of the reference: slope first, then the steps; or the table."""
    if isinstance(policy, DirectTabular):
        return np.array(policy.table)
    return np.concatenate([policy.slope, policy.steps])


def unflat(policy, theta):
    if isinstance(policy, DirectTabular):
        return DirectTabular(jnp.asarray(theta))
    return Split(jnp.asarray(theta[:1]), jnp.asarray(theta[1:]))


def recorded(episodes):
    """Episodes as the reference reads them: (return, features of each step, actions)."""
    seen, actions, alive = (np.asarray(x) for x in (episodes.observations, episodes.actions, episodes.alive))
    for i, ret in enumerate(np.asarray(episodes.returns)):
        count = int(alive[:, i].sum())
        yield ret, [_features(x) for x in seen[:count, i]], actions[:count, i]


def _features(observation):
    if observation.ndim == 0:
        return int(observation)
    return np.array([observation[0], *(float(observation[1] == k) for k in range(HORIZON))])


_draw = eqx.filter_jit(lambda solver, key, policy, estimator: solver.draw(key, policy, estimator))
_step = eqx.filter_jit(lambda solver, *args: solver.step(*args))
_sample = eqx.filter_jit(lambda estimator, noise, policy: estimator.sample(noise, policy))


def noise_of(solver, policy, estimator, iteration):
    return _draw(solver, jax.random.fold_in(KEY, iteration), policy, estimator)


def batches_of(noise):
    """Noise of each batch: Tamar's has only one, and no numbers for an order."""
    return noise[0] if isinstance(noise, tuple) else (noise,)


def run(solver, policy, estimator, objective, updates, dual=DUAL):
    """States after 0, 1, …, `updates` steps."""
    states = [solver.init(policy, jnp.asarray(dual))]
    for t in range(updates):
        noise = noise_of(solver, policy, estimator, t)
        states.append(_step(solver, noise, jnp.asarray(t), states[-1], estimator, objective)[0])
    return states


def run_reference(reference, solver, policy, estimator, sizes, rules, updates, dual=DUAL):
    """What the reference yields after 1, …, `updates` steps, from episodes played with the solver's noise."""

    def play(t, batch, theta):
        noise = batches_of(noise_of(solver, policy, estimator, t))[batch]
        return list(recorded(_sample(estimator, noise, unflat(policy, theta))))

    def coins(t):
        return np.asarray(noise_of(solver, policy, estimator, t)[1])

    return list(islice(reference(flat(policy), dual, play, coins, sizes, rules), updates))
