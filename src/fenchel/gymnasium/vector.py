"""Many episodes side by side in one compiled program, as a Gymnasium vector environment."""

from typing import Any, ClassVar, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from jaxtyping import Array, Bool, Int, Key, Num, PyTree

from fenchel.envs import AbstractEnvironment, TimeStep
from fenchel.errors import require, require_count
from fenchel.gymnasium.compiled import compiled
from fenchel.gymnasium.registry import chosen

Arrays = np.ndarray[Any, Any]


class Batch(NamedTuple):
    """Episodes side by side: their states, which are over, and the key and number of the next call."""

    states: PyTree
    over: Bool[Array, " n"]
    key: Key[Array, ""]
    call: Int[Array, ""]


class ExportedVectorEnv(VectorEnv[Any, Any, Any]):
    """Episodes of a fenchel environment side by side, a call of `step` being one compiled program.

    An episode that is over begins anew at the next call, whatever its action, with a reward of 0
    (`AutoresetMode.NEXT_STEP`, Gymnasium's default).

    Arguments:
        env: an environment, or the name of a built-in one.
        num_envs: how many episodes.
        render_mode: None; one episode can be watched by `gymnasium.make`.
        said: for a name, what `fenchel.make` takes: `preset`, `observe` and fields.

    Example:
        >>> option = ExportedVectorEnv("option", num_envs=3, start=0.75)
        >>> _ = option.reset(seed=0)
        >>> option.step(np.array([0, 1, 1]))[1].tolist()
        [0.0, 0.25, 0.25]
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}  # type: ignore[misc]

    def __init__(
        self,
        env: AbstractEnvironment | str,
        num_envs: int = 1,
        render_mode: str | None = None,
        **said: Any,
    ):
        require_count("num_envs", num_envs)
        remedy = "draws one episode: gymnasium.make, or vectorization_mode='sync'"
        require(render_mode is None, "render_mode", render_mode, remedy)
        self.env, self.num_envs, self.render_mode = chosen(env, said), num_envs, None
        self.single_observation_space = self.env.observation_space
        self.single_action_space = self.env.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._begin, self._advance = compiled(_begin, self.env), compiled(_advance, self.env)
        self._batch: Batch | None = None

    @property
    def discount(self) -> float:
        """The factor per step on the rewards that make up the return."""
        return self.env.discount

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Arrays, dict[str, Any]]:
        """Begin all episodes."""
        super().reset(seed=seed)
        key = self.np_random.integers(2**32, dtype=np.uint32)
        self._batch, observations = self._begin(key, np.zeros(self.num_envs, bool))
        return self._shown(observations), {}

    def step(self, actions: Any) -> tuple[Arrays, Arrays, Arrays, Arrays, dict[str, Any]]:
        """Act in every episode."""
        if self._batch is None:
            raise gymnasium.error.ResetNeeded("call reset before step")
        self._batch, found = self._advance(self._batch, np.asarray(actions))
        seen: TimeStep = jax.device_get(found)
        ends = np.array(seen.terminated), np.array(seen.truncated)
        return self._shown(seen.observation), np.array(seen.reward, np.float64), *ends, {}

    def _shown(self, observations: Any) -> Arrays:
        """In the type of the observation space, and the caller's own to change."""
        return np.array(observations, self.observation_space.dtype)


def _begin(
    env: AbstractEnvironment, seed: Int[Array, ""], over: Bool[Array, " n"]
) -> tuple[Batch, Num[Array, "n ..."]]:
    first, later = jax.random.split(jax.random.key(seed))
    states, observations = jax.vmap(env.reset)(env.draw(first, over.shape))
    return Batch(states, over, later, jnp.zeros((), jnp.int32)), observations


def _advance(env: AbstractEnvironment, batch: Batch, actions: Num[Array, "n ..."]) -> tuple[Batch, TimeStep]:
    over, count = batch.over, batch.over.shape[0]
    first, later = jax.random.split(jax.random.fold_in(batch.key, batch.call))
    begun, shown = jax.vmap(env.reset)(env.draw(first, (count,)))
    moved, seen = jax.vmap(env.step)(env.draw(later, (count,)), batch.states, actions)

    def anew(fresh: Array, old: Array) -> Array:
        return jnp.where(over.reshape(count, *[1] * (old.ndim - 1)), fresh, old)

    seen = seen._replace(
        observation=anew(shown, seen.observation),
        reward=jnp.where(over, 0, seen.reward),
        terminated=seen.terminated & ~over,
        truncated=seen.truncated & ~over,
    )
    states = jax.tree.map(anew, begun, moved)
    return Batch(states, seen.terminated | seen.truncated, batch.key, batch.call + 1), seen
