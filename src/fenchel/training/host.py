"""Learners whose episodes are played on the host: the update is compiled, the environment is Gymnasium's."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from fenchel.envs.base import AbstractEnvironment
from fenchel.envs.gym import GymnasiumEnvironment, Norms
from fenchel.estimators.episodes import Episodes
from fenchel.estimators.host import Batch, Played, Player, scaled
from fenchel.policies.base import AbstractPolicy
from fenchel.training.keys import pilot_key
from fenchel.training.learner import Learner, Method, step
from fenchel.training.parts import Arrays, Parts, method_of
from fenchel.training.problem import Problem
from fenchel.training.storage import within

LEAST_STD = 1e-6
"""A number that varies less is left at its scale: it is constant."""

NORMS = "norms."


@dataclass
class Running:
    """Moments of all that a learner saw, the factor on its rewards, and how episodes ended of late."""

    count: float = 0.0
    mean: Any = field(default_factory=lambda: np.zeros(0))
    scatter: Any = field(default_factory=lambda: np.zeros(0))
    reward: float = 1.0
    episodes: float = 0.0
    """Since the last record, as the two below."""
    steps: float = 0.0
    truncated: float = 0.0

    def add(self, batch: Batch) -> None:
        """A batch more (Chan's update)."""
        observed = batch.observed
        size, mean = len(observed), np.mean(observed, axis=0)
        own = np.sum((observed - mean) ** 2, axis=0)
        total, gap = self.count + size, mean - self.mean if self.count else mean
        self.scatter = own + (self.scatter + gap**2 * self.count * size / total if self.count else 0)
        self.mean = self.mean + gap * size / total if self.count else mean
        self.count = total
        self.episodes += len(batch.truncated)
        self.steps += size
        self.truncated += float(np.sum(batch.truncated))

    def begin_record(self) -> None:
        """Count episodes from here on."""
        self.episodes = self.steps = self.truncated = 0.0

    def norms(self, env: GymnasiumEnvironment) -> Norms:
        """What the next batch is normalised by."""
        if self.count == 0 or not env.normalises:
            return Norms(reward=self.reward)
        std = np.sqrt(self.scatter / self.count)
        scale = np.where(std > LEAST_STD * (1 + np.abs(self.mean)), std, 1.0)
        return Norms(tuple(self.mean.tolist()), tuple(scale.tolist()), self.reward)

    def arrays(self) -> Arrays:
        """For a checkpoint."""
        return {name: np.asarray(value, np.float64) for name, value in vars(self).items()}

    @classmethod
    def of(cls, arrays: Arrays) -> "Running":
        """What `arrays` gave."""
        values: dict[str, Any] = {name: x if x.ndim else float(x) for name, x in arrays.items()}
        return cls(**values)


def parts_for(problems: Sequence[Problem]) -> Parts:
    """Learners on the host where the environment is Gymnasium's, else compiled ones."""
    hosted = isinstance(problems[0].estimator.env, GymnasiumEnvironment)
    return HostParts(problems) if hosted else Parts(problems)


class HostParts(Parts):
    """Learners that take turns; each is a part of its own."""

    first_chunk = 1
    also = ("length", "truncated")

    def __init__(self, problems: Sequence[Problem]):
        super().__init__(problems)
        self.running = [Running() for _ in problems]
        self.player: Player | None = None

    def _width(self) -> int:
        return 1

    def close(self) -> None:
        """End the copies of the environment."""
        if self.player is not None:
            self.player.close()
            self.player = None

    def env(self, row: int) -> AbstractEnvironment:
        """With what observations and rewards are normalised by now."""
        return self._env.normed(self.running[row].norms(self._env))

    def advance(self, start: int, stop: int) -> None:
        """Run iterations start … stop − 1 of every learner."""
        learners = list(self.learners)
        for row in range(self.count):
            for iteration in range(start, stop):
                learners[row] = self._iterate(row, iteration, learners[row])
        self.learners = tuple(learners)

    def more(self) -> Arrays:
        """Mean length of the episodes since the last record, and the share that was cut off."""
        steps, cut, count = (
            np.asarray([getattr(one, name) for one in self.running])
            for name in ("steps", "truncated", "episodes")
        )
        with np.errstate(invalid="ignore"):
            return {"length": steps / count, "truncated": cut / count}

    def reset_tallies(self) -> None:
        """Begin a new record."""
        super().reset_tallies()
        for one in self.running:
            one.begin_record()

    def arrays(self) -> Arrays:
        """Everything that changes, by name."""
        norms = {
            f"{NORMS}{row}.{k}": v for row, run in enumerate(self.running) for k, v in run.arrays().items()
        }
        return super().arrays() | norms

    def restore(self, arrays: Arrays) -> None:
        """Put back what `arrays` gave."""
        super().restore({name: array for name, array in arrays.items() if not name.startswith(NORMS)})
        self.running = [Running.of(within(f"{NORMS}{row}.", arrays)) for row in range(self.count)]

    def _iterate(self, row: int, iteration: int, learner: PyTree) -> PyTree:
        """A batch, and the step that follows from it; a learner that diverged rests."""
        if int(learner.fault[0]) >= 0:
            return learner
        whole = eqx.combine(learner, self.outline)
        policy = jax.tree.map(lambda x: x[0] if eqx.is_array(x) else x, whole.state.policy)
        if iteration == 0:
            self.running[row] = self._pilot(policy)
        running = self.running[row]
        key = jax.random.fold_in(self.keys[row][0, 0], iteration)
        batch = self._play(key, policy, running.norms(self._env))
        running.add(batch)
        episodes = scaled(batch.episodes, running.reward)
        return _update(
            self.shared,
            self.outline,
            self.numbers[row],
            self.keys[row],
            learner,
            jnp.asarray(iteration),
            episodes,
        )

    def _pilot(self, policy: AbstractPolicy) -> Running:
        """The first scales, from episodes that nothing is learned from."""
        batch = self._play(pilot_key(), policy, Norms())
        running = Running()
        running.add(batch)
        running.begin_record()
        spread = float(np.std(batch.episodes.returns, dtype=np.float64))
        if self._env.normalise_rewards and spread > 0:
            running.reward = 1 / spread
        return running

    def _play(self, key: Any, policy: AbstractPolicy, norms: Norms) -> Batch:
        size = self.problems[0].episodes_per_iteration
        if self.player is None:
            self.player = Player(self._env, size)
        return self.player.play(key, policy, size, norms)

    @property
    def _env(self) -> GymnasiumEnvironment:
        env = self.problems[0].estimator.env
        assert isinstance(env, GymnasiumEnvironment)
        return env


@eqx.filter_jit
def _update(
    shared: PyTree,
    outline: PyTree,
    numbers: PyTree,
    keys: PyTree,
    part: PyTree,
    iteration: Any,
    episodes: Episodes,
) -> PyTree:
    """One step of the one learner of a part, of episodes played already."""
    numbers, keys, learner = jax.tree.map(lambda x: x[0], (numbers, keys, part))
    whole: Learner = eqx.combine(learner, outline)
    method = method_of(shared, numbers)
    played = Played(method.estimator, episodes)
    method = Method(method.solver, method.objective, played, method.selection)
    noise = method.solver.draw(jax.random.fold_in(keys[0], iteration), whole.state.policy, played)
    moved = step(method, keys[1], whole, noise, iteration)
    return jax.tree.map(lambda x: x[None], eqx.filter(moved, eqx.is_array))
