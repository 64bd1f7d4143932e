"""A race to a score on the option, λ = 1, in a process of its own; prints JSON.

`race.py SCORE bca SEEDS`, `race.py SCORE mvp KIND EPISODES SEEDS` or `race.py SCORE sb3 NAME SECONDS`.
A score is (J − J_uniform)/(J* − J_uniform), exact for every contestant; the clock stands still meanwhile.
"""

import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from workloads import RISK_AVERSION

import fenchel
from fenchel.envs import AbstractEnvironment
from fenchel.objectives import MeanVariance
from fenchel.policies import AbstractPolicy, Tabular
from fenchel.policies.defaults import default_policy
from fenchel.studies.oracle import oracle_of
from fenchel.training import Snapshot
from fenchel.training.view import full_view

POLICY_STEPS, DUAL_STEPS = (0.1, 0.3, 1.0, 3.0), (0.001, 0.01, 0.1)
"""The sweep in which MVP's best step sizes are found; the best ones lie inside."""

EPISODES = 1_000_000
"""Of a run of `bca` where nothing is said."""

SHORT = 120_000
"""Episodes of a run of `bca` that is as long as it has to be: its schedules end with the run."""

LOOKS = {"bca": 4_096, "mvp": 2_000}
"""Episodes between two looks at the score: a small part of what it takes."""

SWEPT = 5, 250_000
"""Seeds of each pair of step sizes in the sweep, and episodes of each seed."""

FRESH = 100
"""The first seed of timed runs; those of the sweep begin at 0."""

PAUSE = 0.5
"""Seconds between two looks at a learner of Stable-Baselines3."""

CERTAIN = 60.0
"""A logit for a sure thing."""


class Finish(NamedTuple):
    """How long a run took to the score; where it was not reached, how long it took to give up."""

    seconds: float
    reached: bool


class Judge:
    """The exact scale with the score that is wanted, and the clock."""

    def __init__(self, env: AbstractEnvironment, score: float):
        self.score = score
        self.oracle = oracle_of(env)
        self.scale = self.oracle.scale(MeanVariance(RISK_AVERSION))
        self.start()

    def scores(self, policies: Sequence[AbstractPolicy]) -> np.ndarray[Any, Any]:
        """Of each policy."""
        worth = self.oracle.worth(policies, 0)
        return self.scale.share(worth.mean - RISK_AVERSION * worth.std**2)

    def start(self) -> None:
        """From now on time counts."""
        self.begun, self.away = time.perf_counter(), 0.0

    @property
    def seconds(self) -> float:
        """Since the start, pauses left out."""
        return time.perf_counter() - self.begun - self.away

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Time that does not count."""
        paused = time.perf_counter()
        yield
        self.away += time.perf_counter() - paused


def timed(judge: Judge, env: AbstractEnvironment, algorithm: str, seed: int, **settings: Any) -> Finish:
    """From the call of `train` to the score, or to the end of the run."""
    reached: list[float] = []

    def watch(snapshot: Snapshot) -> bool:
        with judge.pause():
            there = bool(judge.scores(_policies(snapshot, env))[0] >= judge.score)
        if there:
            reached.append(judge.seconds)
        return there

    records = settings["episodes"] // LOOKS[algorithm]
    how = {"objective": "mean-variance", "risk_aversion": RISK_AVERSION, "seed": seed, "records": records}
    judge.start()
    fenchel.train(env, algorithm, callbacks=[watch], **{**how, **settings})
    return Finish(reached[0], True) if reached else Finish(judge.seconds, False)


def bca(score: float, seeds: int) -> dict[str, Any]:
    """The default of `fenchel.frontier`: with compiling, and without on other seeds; and a shorter run."""
    env = full_view(fenchel.make("option"))
    judge, episodes = Judge(env, score), EPISODES
    cold, *warm = (timed(judge, env, "bca", FRESH + row, episodes=episodes) for row in range(seeds + 1))
    short = [timed(judge, env, "bca", FRESH + row, episodes=SHORT) for row in range(seeds)]
    return {"cold": cold.seconds, "runs": warm, "short": {"runs": short, "episodes": SHORT}}


def mvp(score: float, kind: str, episodes: int, seeds: int) -> dict[str, Any]:
    """Updates by single episodes in the paper's scale, at the step sizes that were best in a small sweep."""
    env = fenchel.make("option", observe="index" if kind == "tabular" else "state")
    judge = Judge(env, score)
    judge.start()
    policy_step, dual_step = _best_steps(judge, env, episodes)
    search = judge.seconds
    steps = {"policy_step_size": policy_step, "dual_step_size": dual_step}
    own = {"objective": None, "episodes": episodes, **steps}
    timed(judge, env, "mvp", FRESH, **{**own, "episodes": LOOKS["mvp"]})
    runs = [timed(judge, env, "mvp", FRESH + row, **own) for row in range(seeds)]
    return {"runs": runs, "search": search, **steps}


def _best_steps(judge: Judge, env: AbstractEnvironment, episodes: int) -> tuple[float, float]:
    """Those that need the fewest episodes on average, all of `episodes` where a seed does not get there."""
    hits: list[np.ndarray[Any, Any]] = []
    seeds, short = SWEPT

    def watch(snapshot: Snapshot) -> None:
        with judge.pause():
            hits.append(judge.scores(_policies(snapshot, env)))

    grid = {"policy_step_size": POLICY_STEPS, "dual_step_size": DUAL_STEPS, "seed": range(seeds)}
    how = {"risk_aversion": RISK_AVERSION, "episodes": short, "records": short // LOOKS["mvp"]}
    fenchel.sweep(env, "mvp", callbacks=[watch], **grid, **how)
    scores = np.stack(hits).reshape(len(hits), len(POLICY_STEPS), len(DUAL_STEPS), seeds)
    there = scores >= judge.score
    never = len(hits) * episodes / short
    looks = np.where(there.any(axis=0), there.argmax(axis=0), never).mean(axis=-1)
    order = np.lexsort((-scores[-1].mean(axis=-1).ravel(), looks.ravel()))
    row, column = np.unravel_index(order[0], looks.shape)
    return POLICY_STEPS[row], DUAL_STEPS[column]


def _policies(snapshot: Snapshot, env: AbstractEnvironment) -> list[AbstractPolicy]:
    """The policy of every learner."""
    stacked = snapshot.iterates().policy
    shape = eqx.filter(default_policy(env), eqx.is_array, inverse=True)
    rows = range(jax.tree.leaves(stacked)[0].shape[0])
    return [eqx.combine(jax.tree.map(lambda x, row=row: x[row], stacked), shape) for row in rows]


def sb3(score: float, name: str, seconds: float) -> dict[str, Any]:
    """PPO or A2C with their published defaults, not discounting, on the option made risk-averse."""
    import stable_baselines3
    import torch
    from risky import Follow, TerminalRisk

    torch.set_num_threads(1)
    env = fenchel.make("option", observe="index")
    judge, world = Judge(env, score), TerminalRisk("fenchel/AmericanOption-v0", RISK_AVERSION)
    best = [-np.inf]

    def there(chances: np.ndarray[Any, Any]) -> bool:
        with judge.pause():
            logits = jnp.asarray(np.log(chances[:, 1:]) - np.log(chances[:, :1]))
            sure = jnp.where(logits > 0, CERTAIN, -CERTAIN)
            best.append(float(judge.scores([Tabular(logits), Tabular(sure)]).max()))
        return best[-1] >= score or judge.seconds > seconds

    learner = getattr(stable_baselines3, name)("MlpPolicy", world, gamma=1.0, seed=0, device="cpu")
    judge.start()
    learner.learn(sys.maxsize, callback=Follow(world, there, PAUSE))
    return {"runs": [Finish(judge.seconds, best[-1] >= score)], "best": max(best)}


if __name__ == "__main__":
    wanted, task, *words = sys.argv[1:]
    tasks = {"bca": bca, "mvp": mvp, "sb3": sb3}
    given = [int(word) if word.isdigit() else word for word in words]
    print(json.dumps(tasks[task](float(wanted), *given)))
