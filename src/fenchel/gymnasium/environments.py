"""Environments of fenchel as Gymnasium environments: one episode at a time, NumPy in and out."""

from typing import Any, ClassVar, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Discrete
from jaxtyping import Array, Int, Num, PyTree

from fenchel.envs import AbstractEnvironment, TimeStep
from fenchel.errors import require_choice
from fenchel.gymnasium.compiled import compiled
from fenchel.gymnasium.drawing import Moment
from fenchel.gymnasium.registry import chosen
from fenchel.gymnasium.rendering import FRAMES_PER_SECOND, Picture, Window, require_drawing

METADATA = {"render_modes": ["human", "rgb_array"], "render_fps": FRAMES_PER_SECOND}


class Playing(NamedTuple):
    """An episode that is being played: its state, all its noise, and the steps so far."""

    state: PyTree
    noise: PyTree
    step: Int[Array, ""]


class ExportedEnv(gymnasium.Env[Any, Any]):
    """A Gymnasium environment that plays episodes of a fenchel environment.

    The noise of an episode is drawn as a whole when it begins, from a seed that the environment's own
    `np_random` gives. Rewards are not discounted: `env.discount` is the learner's to use.

    Arguments:
        env: an environment, or the name of a built-in one.
        render_mode: "rgb_array", "human" (a matplotlib window), or None.
        said: for a name, what `fenchel.make` takes: `preset`, `observe` and fields.

    Example:
        >>> option = ExportedEnv("option", start=0.75)
        >>> _ = option.reset(seed=0)
        >>> option.step(1)[1:4]
        (0.25, True, False)
    """

    metadata: ClassVar[dict[str, Any]] = METADATA  # type: ignore[misc]

    def __init__(self, env: AbstractEnvironment | str, render_mode: str | None = None, **said: Any):
        if render_mode is not None:
            require_choice("render_mode", render_mode, self.metadata["render_modes"])
            require_drawing(render_mode)
        self.env = chosen(env, said)
        self.render_mode = render_mode
        self.observation_space = self.env.observation_space
        self.action_space = self.env.action_space
        self._begin, self._advance = compiled(_begin, self.env), compiled(_advance, self.env)
        self._playing: Playing | None = None
        self._seen: list[Moment] = []
        self._picture: Picture | None = None

    @property
    def discount(self) -> float:
        """The factor per step on the rewards that make up the return."""
        return self.env.discount

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        super().reset(seed=seed)
        self._playing, observation = self._begin(self.np_random.integers(2**32, dtype=np.uint32))
        self._seen = []
        self._see(observation, None, 0.0)
        return self._shown(observation), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Act."""
        if self._playing is None:
            raise gymnasium.error.ResetNeeded("call reset before step")
        given = np.asarray(action)
        self._playing, found = self._advance(self._playing, given)
        seen: TimeStep = jax.device_get(found)
        reward = float(seen.reward)
        self._see(seen.observation, given, reward)
        ends = bool(seen.terminated), bool(seen.truncated)
        return self._shown(seen.observation), reward, *ends, {}

    def render(self) -> Any:
        """The episode so far: an image, or nothing but a window brought up to date."""
        if self.render_mode is None:
            gymnasium.logger.warn(
                "render does nothing without a render_mode: gymnasium.make(..., render_mode=)"
            )
            return None
        if self._picture is None:
            self._picture = Window() if self.render_mode == "human" else Picture()
        return self._picture.show(self.env, self._seen)

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._picture is not None:
            self._picture.close()
            self._picture = None

    def _see(self, observation: Any, action: Any, reward: float) -> None:
        """Keep what a drawing needs; "human" draws at once, as Gymnasium wants it."""
        if self.render_mode is None:
            return
        assert self._playing is not None
        moment = Moment(self._playing.state, np.asarray(observation), action, reward)
        self._seen.append(moment)
        if self.render_mode == "human":
            self.render()

    def _shown(self, observation: Any) -> Any:
        """In the type of the observation space, and the caller's own to change."""
        if isinstance(self.observation_space, Discrete):
            return self.observation_space.dtype.type(observation)
        return np.array(observation, self.observation_space.dtype)


def _begin(env: AbstractEnvironment, seed: Int[Array, ""]) -> tuple[Playing, Num[Array, "..."]]:
    first, later = jax.random.split(jax.random.key(seed))
    state, observation = env.reset(env.draw(first, ()))
    return Playing(state, env.draw(later, (env.horizon,)), jnp.zeros((), jnp.int32)), observation


def _advance(
    env: AbstractEnvironment, playing: Playing, action: Num[Array, "..."]
) -> tuple[Playing, TimeStep]:
    noise = jax.tree.map(lambda each: each[playing.step], playing.noise)
    state, seen = env.step(noise, playing.state, action)
    return playing._replace(state=state, step=playing.step + 1), seen
