"""What is learned in the benchmarks."""

from collections.abc import Callable
from dataclasses import replace

import equinox as eqx
import jax
from jaxtyping import Array, Key, Num, PyTree

from fenchel import make, make_policy
from fenchel.envs.base import AbstractEnvironment, TimeStep
from fenchel.policies.base import AbstractPolicy
from fenchel.training.problem import Problem
from fenchel.training.resolve import resolve
from fenchel.training.settings import Settings

RISK_AVERSION = 1.0
POLICY_STEP = 0.01
DUAL_STEP = 0.01

PRICES, STEPS = (0.5, 1.25, 2.0), (0.0, 10.0, 20.0)
"""Centres of the bumps, as in `reference_loop.c`."""

LEARNERS = 1024
BATCH = 1024

SETTINGS = Settings(
    risk_aversion=RISK_AVERSION, policy_step_size=POLICY_STEP, dual_step_size=DUAL_STEP, episodes=10**8
)


def linear_policy(env: AbstractEnvironment) -> AbstractPolicy:
    """One logit, linear in 3 × 3 bumps and a bias."""
    return make_policy("linear", env, rbf_centres=(PRICES, STEPS), rbf_widths=(0.75, 10.0), bias=True)


def _one() -> list[Problem]:
    env = make("option")
    return [resolve(env, "mvp", linear_policy(env), None, SETTINGS)]


def _many() -> list[Problem]:
    first = _one()[0]
    return [replace(first, seed=seed) for seed in range(LEARNERS)]


def _tabular() -> list[Problem]:
    changes = {"batch_size": BATCH, "control_variate": "batch"}
    return [resolve("option", "mvp", "tabular", None, SETTINGS.changed(changes))]


def _keyed() -> list[Problem]:
    env = KeyedEnvironment(make("option"))
    return [resolve(env, "mvp", KeyedPolicy(linear_policy(env)), None, SETTINGS)]


WORKLOADS: dict[str, Callable[[], list[Problem]]] = {
    "one": _one,
    "many": _many,
    "tabular": _tabular,
    "keyed": _keyed,
}


def problems(name: str) -> list[Problem]:
    """The learners of a workload."""
    return WORKLOADS[name]()


class KeyedEnvironment(AbstractEnvironment):
    """The inner environment, drawing its numbers from a key inside each step."""

    env: AbstractEnvironment
    horizon: int = eqx.field(init=False)
    discount: float = eqx.field(init=False)

    def __post_init__(self) -> None:
        self.horizon, self.discount = self.env.horizon, self.env.discount

    @property
    def observation_space(self):  # type: ignore[no-untyped-def]  # noqa: D102
        return self.env.observation_space

    @property
    def action_space(self):  # type: ignore[no-untyped-def]  # noqa: D102
        return self.env.action_space

    def reset(self, noise: Key[Array, ""]) -> tuple[PyTree, Num[Array, "..."]]:
        """Numbers from the key, then the inner reset."""
        return self.env.reset(jax.random.uniform(noise, (1,)))

    def step(
        self, noise: Key[Array, ""], state: PyTree, action: Num[Array, "..."]
    ) -> tuple[PyTree, TimeStep]:
        """Numbers from the key, then the inner step."""
        return self.env.step(jax.random.uniform(noise, (1,)), state, action)


class KeyedPolicy(AbstractPolicy):
    """The inner policy, drawing its number from a key inside each step."""

    policy: AbstractPolicy

    def draw(self, key: Key[Array, ""], shape: tuple[int, ...]) -> Key[Array, "..."]:
        """A key per action."""
        return jax.random.split(key, shape)

    def sample(self, noise: Key[Array, ""], observation: Num[Array, "..."]) -> tuple[Array, Array]:
        """A number from the key, then the inner sample."""
        return self.policy.sample(jax.random.uniform(noise), observation)

    def log_prob(self, observation: Num[Array, "..."], action: Num[Array, "..."]) -> Array:
        """That of the inner policy."""
        return self.policy.log_prob(observation, action)

    def mode(self, observation: Num[Array, "..."]) -> Array:
        """That of the inner policy."""
        return self.policy.mode(observation)
