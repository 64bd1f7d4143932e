"""How much of the paper's study is computed."""

from dataclasses import asdict, dataclass
from typing import Any

from fenchel.errors import require, require_choice, require_count
from fenchel.studies.paper.published import TABLE
from fenchel.theory.directions import AT_ONCE

ALGORITHMS = ("mvp", "pg", "tamar", "sga", "rcpg")

TUNING_SEED, FINAL_SEED = 1000, 5000
"""First seeds of the grid search and of its finals; trials count from 0. All have episodes of their own."""

RISK_AVERSIONS = {"portfolio": 0.01, "option": 1.0, "stopping": 0.1}
"""λ at which settings are chosen and J_λ is reported. The paper names none; at these, the variance of a
good policy weighs about as much as its mean."""


@dataclass(frozen=True)
class Plan:
    """What is run, in numbers.

    Arguments:
        domains: which of the three.
        algorithms: which of the five.
        weights: λ of the algorithm over λ of the report.
        policy_factors: step sizes of the policy over the one that the pilot measures.
        dual_steps: step sizes of the dual, or of the trackers.
        tuning_seeds: per cell of the grid.
        tuning_episodes: per learner of the grid.
        finalists: cells of the grid that are run again, at full length.
        final_seeds: per finalist.
        trials: fresh seeds of the chosen setting.
        trial_episodes: per trial.
        evaluation_episodes: per learner, where policies cannot be evaluated exactly.
        uniform_episodes: episodes of the portfolio that are played at random.
        restarts: schedules that the search for the best portfolio starts from.
        bound_rounds: rounds that lower the bound on the portfolio.
        bound_points: λ for which that bound is computed, in multiples of that of the report.
        rate_counts: N, the episodes of the runs at constant steps whose gradient is measured.
        rate_seeds: runs for each N.
        decay_episodes: length of the runs with decaying steps.
        decay_seeds: such runs.
        bias_episodes: for every step size at which the bias is sampled.
    """

    domains: tuple[str, ...] = tuple(TABLE)
    algorithms: tuple[str, ...] = ALGORITHMS
    weights: tuple[float, ...] = (0.3, 1.0, 3.0)
    policy_factors: tuple[float, ...] = tuple(10.0 ** (k / 2) for k in range(-4, 5))
    dual_steps: tuple[float, ...] = tuple(10.0 ** (k / 2) for k in range(-6, 0))
    tuning_seeds: int = 3
    tuning_episodes: int = 30_000
    finalists: int = 4
    final_seeds: int = 16
    trials: int = 100
    trial_episodes: int = 200_000
    evaluation_episodes: int = 10_000
    uniform_episodes: int = 1_000_000
    restarts: int = 64
    bound_rounds: int = 40
    bound_points: tuple[float, ...] = (0.3, 1.0, 3.0, 10.0)
    rate_counts: tuple[int, ...] = (100, 316, 1000, 3162, 10_000, 31_623, 100_000, 316_228, 1_000_000)
    rate_seeds: int = 64
    decay_episodes: int = 10_000_000
    decay_seeds: int = 8
    bias_episodes: int = 1_000_000

    def __post_init__(self) -> None:
        for domain in self.domains:
            require_choice("domains", domain, TABLE)
        for algorithm in self.algorithms:
            require_choice("algorithms", algorithm, ALGORITHMS)
        for name, value in asdict(self).items():
            if isinstance(value, int):
                require_count(name, value)
            else:
                require(len(value) > 0, name, value, "must name at least one")
        require_count("bias_episodes", self.bias_episodes, AT_ONCE)
        for name, value in (("weights", self.weights), ("bound_points", self.bound_points)):
            require(1.0 in value, name, value, "must contain 1, the λ of the report")

    def axes(self, algorithm: str) -> dict[str, tuple[float, ...]]:
        """The grid of an algorithm. Plain policy gradient has neither λ nor a second step size."""
        steps = {"policy_step_factor": self.policy_factors}
        if algorithm == "pg":
            return steps
        return {"risk_aversion": self.weights, **steps, "dual_step_size": self.dual_steps}

    def seeds(self, algorithm: str) -> int:
        """Seeds per cell; an algorithm with fewer cells gets more, so that all budgets are equal."""
        missing = 1 if algorithm != "pg" else len(self.weights) * len(self.dual_steps)
        return self.tuning_seeds * missing

    def config(self) -> dict[str, Any]:
        """What identifies the study."""
        return asdict(self)


FULL = Plan()

QUICK = Plan(
    weights=(1.0,),
    policy_factors=(0.1, 1.0, 10.0, 100.0, 1000.0),
    dual_steps=(0.003, 0.01, 0.03, 0.1),
    tuning_seeds=5,
    tuning_episodes=4_000,
    finalists=2,
    final_seeds=8,
    trial_episodes=10_000,
    evaluation_episodes=1_000,
    uniform_episodes=100_000,
    restarts=4,
    bound_rounds=5,
    bound_points=(1.0,),
    rate_counts=(100, 316, 1000, 3162, 10_000),
    decay_episodes=100_000,
    bias_episodes=100_000,
)
"""Rough, for a first look. The grid has as many learners as there are trials: both share a program."""
