"""Episodes of Gymnasium's environments, played on the host, as the solver wants them."""

from functools import partial
from types import TracebackType
from typing import Any, NamedTuple, Self, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.vector import SyncVectorEnv
from jaxtyping import Array, Float, Key, PyTree, UInt32
from numpy.typing import NDArray

from fenchel.envs.gym import GymnasiumEnvironment, Norms
from fenchel.envs.gym_spaces import seen, taken
from fenchel.errors import InputError
from fenchel.estimators.base import AbstractEstimator
from fenchel.estimators.episodes import Episodes
from fenchel.objectives.base import AbstractObjective
from fenchel.policies.base import AbstractPolicy
from fenchel.policies.hosted import acting, draw_acting

BLOCK = 128
"""Steps whose noise is drawn at once."""

SEEDS = 0x73656564
"""Tag of the seeds of copies, which are apart from the noise of the policy."""

SHORTEST = 64
"""Arrays have room for this many steps, or twice, four times … as many: few programs serve all batches."""

Numbers = NDArray[Any]


class Steps(NamedTuple):
    """What one step of all copies saw: a row per copy; `episode` is −1 where nobody asked for it."""

    episode: Numbers
    age: Numbers
    raw: Numbers
    seen: Numbers
    action: Numbers
    reward: Numbers


class Batch(NamedTuple):
    """Episodes, what was observed before it was normalised, and how the episodes ended."""

    episodes: Episodes
    observed: Numbers
    """An observation a row, of all steps."""
    truncated: Numbers
    """Whether an episode was cut off, rather than terminated."""


class Player:
    """Plays an environment, some copies of it side by side.

    Episodes are numbered as they start, and all that start are played to their end: to take those that end
    first would prefer short ones. Every batch starts from seeds of its own, so that it is a function of key
    and policy alone (and of the norms), whatever was played before.

    Arguments:
        env: the environment.
        most: how many episodes are asked for at a time; fewer copies than that are of use.

    >>> from fenchel.policies import make_policy
    >>> env = GymnasiumEnvironment("CartPole-v1")
    >>> policy = make_policy("linear", env)
    >>> with Player(env, 4) as player:
    ...     player.play(jax.random.key(0), policy, 4, Norms()).episodes.returns.shape
    (4,)
    """

    def __init__(self, env: GymnasiumEnvironment, most: int):
        self.env, self.copies = env, min(env.copies, most)
        self.vector = env.vector(self.copies)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the copies, and the processes they may be in."""
        self.vector.close()

    def play(self, key: Key[Array, ""], policy: AbstractPolicy, count: int, norms: Norms) -> Batch:
        """`count` episodes."""
        first, _ = self.vector.reset(seed=np.asarray(_seeds(key, self.copies)).tolist())
        table = _Table(self.copies, count)
        rows = self._rows(key, policy, first, table, norms)
        return _batch(self.env, rows, table.truncated)

    def _rows(
        self, key: Key[Array, ""], policy: AbstractPolicy, first: Any, table: "_Table", norms: Norms
    ) -> list[Steps]:
        (observations, actions), norm, act = self.env.spaces, norms.map(), acting(policy)
        horizon, raw = self.env.horizon, seen(observations, first)
        earned = _Earned(self.env, norms, self.copies)
        noise: Any = None
        rows: list[Steps] = []
        while table.left:
            step = len(rows) % BLOCK
            if step == 0:
                noise = draw_acting(key, len(rows) // BLOCK, policy, (BLOCK, self.copies))
            plain = earned.beside(raw, table.age)
            shown = norm(plain)
            action = act(noise, step, shown)
            following, reward, terminated, truncated, _ = self.vector.step(taken(actions, action))
            rows.append(Steps(table.episode, table.age, plain, shown, action, reward))
            raw = seen(observations, following)
            if not np.isfinite(np.vdot(reward, reward) + np.vdot(raw, raw)):
                _require_finite(self.env, rows[-1], raw)
            earned.add(reward, table.age, terminated | truncated)
            for copy in table.advance(terminated, truncated):
                self._rest(copy)
            if len(rows) >= horizon and table.oldest >= horizon:
                self.env.refuse_endless()
        return rows

    def _rest(self, copy: int) -> None:
        """A copy in this process that is out of work costs nothing from here on."""
        if isinstance(self.vector, SyncVectorEnv):
            self.vector.envs[copy].resting = True  # type: ignore[attr-defined]


class _Earned:
    """The discounted rewards of each copy's episode so far, where they are observed."""

    def __init__(self, env: GymnasiumEnvironment, norms: Norms, copies: int):
        self.wanted, self.discount, self.factor = env.observe == "return", env.discount, norms.reward
        self.so_far = np.zeros(copies)

    def beside(self, raw: Numbers, age: Numbers) -> Numbers:
        """The observations, with reward so far and step where they are wanted."""
        return np.column_stack([raw, self.so_far, age]) if self.wanted else raw

    def add(self, reward: Numbers, age: Numbers, over: Numbers) -> None:
        """A step more; what follows an end is a new episode."""
        if self.wanted:
            self.so_far = np.where(over, 0.0, self.so_far + reward * self.factor * self.discount**age)


class _Table:
    """Which episode each copy plays, and how old it is."""

    def __init__(self, copies: int, count: int):
        self.count, self.started, self.left = count, min(copies, count), count
        self.episode = np.where(np.arange(copies) < count, np.arange(copies), -1)
        self.age = np.zeros(copies, int)
        self.truncated = np.zeros(count, bool)

    @property
    def oldest(self) -> int:
        """Steps of the longest of those that are not over."""
        return int(np.max(np.where(self.episode >= 0, self.age, 0)))

    def advance(self, terminated: Numbers, truncated: Numbers) -> list[int]:
        """After a step, in which copies whose episode ended were reset; those without another one to play."""
        self.age = self.age + 1
        done = terminated | truncated
        if not done.any():
            return []
        idle = []
        self.episode = self.episode.copy()
        self.age[done] = 0
        for copy in np.flatnonzero(done & (self.episode >= 0)):
            self.truncated[self.episode[copy]] = truncated[copy] and not terminated[copy]
            self.left -= 1
            more = self.started < self.count
            self.episode[copy] = self.started if more else -1
            self.started += more
            idle += [] if more else [int(copy)]
        return idle


@final
class Played(AbstractEstimator):
    """Episodes that were played already: the solver asks for a batch, and this is it.

    Arguments:
        inner: the estimator that makes directions of them.
        episodes: the batch.
    """

    inner: AbstractEstimator
    episodes: Episodes

    def draw(self, key: Key[Array, ""], policy: AbstractPolicy) -> PyTree:
        """Nothing is left to chance."""
        return None

    def sample(self, noise: PyTree, policy: AbstractPolicy) -> Episodes:
        """The batch."""
        return self.episodes

    def init(self, policy: AbstractPolicy) -> PyTree:
        """What the inner estimator remembers."""
        return self.inner.init(policy)

    def remember(
        self,
        memory: PyTree,
        policy: AbstractPolicy,
        episodes: Episodes,
        objective: AbstractObjective,
        dual: Float[Array, ""],
    ) -> PyTree:
        """What the inner estimator remembers."""
        return self.inner.remember(memory, policy, episodes, objective, dual)

    def direction(
        self,
        policy: AbstractPolicy,
        episodes: Episodes,
        objective: AbstractObjective,
        dual: Float[Array, ""],
        memory: PyTree = None,
        entropy: Float[Array, ""] | None = None,
    ) -> AbstractPolicy:
        """That of the inner estimator."""
        return self.inner.direction(policy, episodes, objective, dual, memory, entropy)


def scaled(episodes: Episodes, factor: float) -> Episodes:
    """With rewards and returns times a factor."""
    returns, rewards = episodes.returns * factor, episodes.rewards * factor
    changed: Episodes = eqx.tree_at(lambda x: (x.returns, x.rewards), episodes, (returns, rewards))
    return changed


@partial(jax.jit, static_argnums=1)
def _seeds(key: Key[Array, ""], copies: int) -> UInt32[Array, " copies"]:
    return jax.random.bits(jax.random.fold_in(key, SEEDS), (copies,), jnp.uint32)


def _batch(env: GymnasiumEnvironment, rows: list[Steps], truncated: Numbers) -> Batch:
    """Time first, episodes second, with zeros after the end of an episode."""
    steps = Steps(*(np.stack(column) for column in zip(*rows, strict=True)))
    kept = steps.episode >= 0
    place = steps.age[kept], steps.episode[kept]
    shape = _room(int(place[0].max()) + 1, env.horizon), len(truncated)
    kind = np.dtype(jnp.result_type(float))

    def laid(column: Numbers, dtype: Any) -> Any:
        whole = np.zeros((*shape, *column.shape[2:]), dtype)
        whole[place] = column[kept]
        return whole

    rewards, alive = laid(steps.reward, float), laid(np.ones_like(kept), bool)
    factors = env.discount ** np.arange(shape[0])
    episodes = Episodes(
        returns=np.sum(rewards * factors[:, None], axis=0).astype(kind),
        observations=laid(steps.seen, kind if steps.seen.dtype.kind == "f" else np.int32),
        actions=laid(steps.action, kind if steps.action.dtype.kind == "f" else np.int32),
        rewards=laid(steps.reward, kind),
        alive=alive,
        own=alive,
        discount=env.discount,
    )
    return Batch(episodes, steps.raw[kept], truncated)


def _room(longest: int, horizon: int) -> int:
    room = SHORTEST
    while room < longest:
        room *= 2
    return max(longest, min(room, horizon))


def _require_finite(env: GymnasiumEnvironment, row: Steps, following: Numbers) -> None:
    """What is not finite is named; a copy whose episode nobody asked for does not matter."""
    for copy in np.flatnonzero(row.episode >= 0):
        place = (
            f"in step {row.age[copy]} of an episode of {env.name}, after action {row.action[copy].tolist()}"
        )
        for field, value in (("reward", row.reward[copy]), ("observation", following[copy])):
            if not np.all(np.isfinite(value)):
                remedy = (
                    f"{place}: must be finite; correct the environment, or wrap it to clip what it returns"
                )
                raise InputError(field, np.asarray(value).tolist(), remedy)
