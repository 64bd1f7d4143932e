"""`fenchel exact`: the certified optimum of an environment, its frontier, and the best under a bound."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fenchel.cli.cache import keep_compiled
from fenchel.cli.environment import build, parameters_in
from fenchel.cli.figure import require_figure, save
from fenchel.cli.flags import Command, read_words, show_help, wants_help
from fenchel.cli.options import Text, options_of
from fenchel.cli.output import DONE, write_json, write_tables
from fenchel.errors import (
    require,
    require_choice,
    require_count,
    require_nonnegative,
    require_positive,
)
from fenchel.settings import OBJECTIVE_FIELDS

if TYPE_CHECKING:
    from fenchel.cli.answers import Answer
    from fenchel.envs import AbstractEnvironment, Portfolio
    from fenchel.objectives import AbstractObjective


@dataclass(frozen=True)
class ExactOptions:
    """What may be asked of the oracle."""

    environment: str
    """the environment, a name that `fenchel list` shows, or FILE.py:CLASS; its parameters are set by
    --env.NAME VALUE"""
    preset: str | None = None
    """The citation whose numbers the environment takes."""
    objective: str = "mean-variance"
    """What the optimum is of: mean-variance, expectation, cvar, entropic, semivariance, gini, sharpe or
    reward-volatility."""
    risk_aversion: float | None = None
    """λ of mean-variance, semivariance, gini and reward-volatility, or β of entropic; 1 by default."""
    level: float | None = None
    """For cvar: the share of worst returns whose mean counts; 0.05 by default."""
    benchmark: float | None = None
    """For sharpe: the return that can be had without risk; 0 by default."""
    frontier: bool = False
    """All extreme points of the mean-variance frontier."""
    variance_at_most: float | None = None
    """The best mean under this bound on the variance, by a randomised and by a deterministic policy."""
    policy: str | None = None
    """Also the best policy of this kind: tabular, direct, linear, mlp, or the default one of training."""
    observe: str | None = None
    """What a policy of that kind sees: state, return or index; by default index for tables, else state."""
    most_states: int = 1_000_000
    """Refuse a problem with more pairs of state and reward so far."""
    figure: Path | None = None
    """Draw the frontier, or the optimal policy and its returns, to this .png, .svg or .pdf file."""
    json: bool = False
    """Print one JSON object instead of tables."""

    def __post_init__(self) -> None:
        if self.risk_aversion is not None:
            require_positive("risk_aversion", self.risk_aversion)
        if self.level is not None:
            require(0 < self.level <= 1, "level", self.level, "must be above 0 and at most 1")
        if self.variance_at_most is not None:
            require_nonnegative("variance_at_most", self.variance_at_most)
        require_count("most_states", self.most_states)
        bounded = self.variance_at_most is not None
        require(
            not (bounded and self.frontier),
            "frontier",
            True,
            "is for all bounds at once; leave it or --variance-at-most out",
        )
        if bounded:
            for name in ("risk_aversion", "level"):
                remedy = "weighs nothing under a bound on the variance; leave it or --variance-at-most out"
                require(getattr(self, name) is None, name, getattr(self, name), remedy)
            remedy = "has an optimum of an objective beside it; leave it or --variance-at-most out"
            require(self.policy is None, "policy", self.policy, remedy)
        needless = self.policy is None and self.observe is not None
        require(not needless, "observe", self.observe, "is what a --policy sees; name one, or leave it out")
        fits = self.objective == "mean-variance" or not (self.frontier or bounded)
        require(fits, "objective", self.objective, "the frontier is one of mean and variance; leave it out")
        remedy = "is asked for by --variance-at-most; leave it out"
        require(self.objective != "variance-bound", "objective", self.objective, remedy)
        if self.objective == "reward-volatility":
            for name in ("policy", "figure"):
                remedy = "is about returns, and this objective about rewards of steps; leave it out"
                require(getattr(self, name) is None, name, str(getattr(self, name)), remedy)
        if self.figure is not None:
            require_figure(self.figure)


SURE = 1e-6
"""Relative gap from which on a title names the bound too."""

LONGEST_PORTFOLIO = 8
"""Steps up to which the portfolio is enumerated; beyond, the policies of step and rate are searched."""

COMMAND = Command(
    "exact",
    "The certified optimum of an environment over all policies, randomised and history-dependent ones too.",
    options_of(ExactOptions),
    has_parameters=True,
)


def run(words: Sequence[str]) -> int:
    """Do what the words of the command line ask for."""
    if wants_help(words):
        show_help(COMMAND, parameters_in(COMMAND, [word for word in words if not wants_help([word])]))
        return DONE
    values, parameters = read_words(COMMAND, words)
    options = ExactOptions(**values)
    keep_compiled()
    env = build(options.environment, options.preset, "state", parameters)
    objective = _objective(options)
    started = time.perf_counter()
    answer = _ask(env, options, objective)
    if options.policy is not None:
        answer.record["class"] = _in_class(options, objective, parameters)
    answer.record["seconds"] = time.perf_counter() - started
    if options.figure is not None:
        save(answer.draw(_title(options, answer.record)), options.figure)
        answer.record["figure"] = str(options.figure)
    if options.json:
        write_json({"environment": options.environment, "preset": options.preset, **answer.record})
    else:
        write_tables(answer.tables(options.environment))
    return DONE


def _title(options: ExactOptions, record: dict[str, Any]) -> str:
    if options.variance_at_most is not None:
        bound = f"a variance of at most {options.variance_at_most:g}"
        return f"{options.environment}: best mean at {bound} is {record['value']:.6g}"
    symbol = "β" if record["objective"] == "entropic" else "λ"
    known = {symbol: record["risk_aversion"], "level": record["level"]}
    at = "".join(f", {name} = {number:g}" for name, number in known.items() if number is not None)
    proved = "" if record["gap"] <= SURE * abs(record["value"]) else f", and at most {record['upper']:.6g}"
    return f"{options.environment}: best {record['objective']}{at} is {record['value']:.6g}{proved}"


def _objective(options: ExactOptions) -> "AbstractObjective":
    from fenchel.objectives import make_objective

    fields = {name: getattr(options, name, None) for name in OBJECTIVE_FIELDS}
    return make_objective(options.objective, **fields).natural()


def _ask(env: "AbstractEnvironment", options: ExactOptions, objective: "AbstractObjective") -> "Answer":
    from fenchel.cli import answers
    from fenchel.envs import Portfolio
    from fenchel.exact import enumerate_environment
    from fenchel.objectives import MeanVariance, RewardVolatility

    if isinstance(env, Portfolio) and env.horizon > LONGEST_PORTFOLIO:
        return answers.best_schedule(env, _portfolio_aversion(env, options, objective))
    problem = enumerate_environment(env, most_states=options.most_states)
    if options.variance_at_most is not None:
        return answers.best_within(problem, options.variance_at_most)
    if options.frontier:
        assert isinstance(objective, MeanVariance)
        return answers.all_extreme(problem, objective)
    if isinstance(objective, RewardVolatility):
        return answers.best_of_steps(env, problem, objective)
    return answers.best_of_all(problem, objective)


def _portfolio_aversion(env: "Portfolio", options: ExactOptions, objective: "AbstractObjective") -> float:
    """λ, where nothing is asked that only a finite problem can answer."""
    from fenchel.objectives import MeanVariance

    remedy = (
        f"needs a finite problem, and the portfolio has too many states: --env.horizon {LONGEST_PORTFOLIO}"
    )
    for name in ("frontier", "variance_at_most", "policy"):
        value = getattr(options, name)
        require(value in (None, False), name, value, f"{remedy} or less, or leave it out")
    mean_variance = isinstance(objective, MeanVariance)
    require(mean_variance, "objective", options.objective, f"{remedy} or less, or mean-variance")
    return float(getattr(objective, "risk_aversion", 1.0))


def _in_class(
    options: ExactOptions, objective: "AbstractObjective", parameters: dict[str, Text]
) -> dict[str, Any]:
    """The best policy of the kind that was named, and what choosing that kind costs."""
    from fenchel.cli.answers import in_class
    from fenchel.exact import class_optimum, enumerate_environment
    from fenchel.policies import POLICIES, make_policy
    from fenchel.policies.defaults import default_policy

    assert options.policy is not None
    observe = options.observe or ("index" if options.policy in ("tabular", "direct") else "state")
    env = build(options.environment, options.preset, observe, parameters)
    require_choice("policy", options.policy, {"default", *POLICIES})
    policy = default_policy(env) if options.policy == "default" else make_policy(options.policy, env)
    problem = enumerate_environment(env, most_states=options.most_states)
    return in_class(class_optimum(problem, policy, objective), options.policy)
