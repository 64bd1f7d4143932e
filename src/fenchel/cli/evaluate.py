"""`fenchel evaluate`: what the policy of a run is worth, on episodes it has not seen."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fenchel.cli.cache import keep_compiled
from fenchel.cli.clock import compile_clock
from fenchel.cli.figure import require_figure, save
from fenchel.cli.flags import Command, read_words, show_help, wants_help
from fenchel.cli.options import options_of
from fenchel.cli.output import DONE, table, write_json, write_tables
from fenchel.cli.ownfile import class_in, is_file
from fenchel.errors import require, require_choice, require_count, require_positive
from fenchel.settings import OBJECTIVE_FIELDS

if TYPE_CHECKING:
    from fenchel.intervals import Interval
    from fenchel.objectives import AbstractObjective
    from fenchel.training import TrainResult
    from fenchel.training.sample import Sample

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
SEEDS = 2**32


@dataclass(frozen=True)
class EvaluateOptions:
    """What may be said about an evaluation."""

    run_dir: Path
    """the directory of a run, as it was given to `fenchel train --out`"""
    environment: str | None = None
    """FILE.py:CLASS of the run, if its environment is not fenchel's own; its parameters are in the run."""
    episodes: int | None = None
    """How many fresh episodes to play; 100,000 by default, for gym: 1,000."""
    seed: int = 0
    """Of these episodes; training never uses the same ones."""
    objective: str | None = None
    """What `value` is of; by default the objective of the run."""
    risk_aversion: float | None = None
    """λ or β of that objective; by default the one of the run."""
    level: float | None = None
    """The share of worst returns of objective cvar; by default the one of the run."""
    variance_bound: float | None = None
    """The bound of objective variance-bound; by default the one of the run."""
    benchmark: float | None = None
    """The sure return of objective sharpe; by default the one of the run."""
    exact: bool = False
    """Also without sampling: its value, the certified optimum, the best of its class, what is lost."""
    figure: Path | None = None
    """With --exact: draw what the policy does and its exact returns to this .png, .svg or .pdf file."""
    json: bool = False
    """Print one JSON object instead of a table."""

    def __post_init__(self) -> None:
        if self.figure is not None:
            require(self.exact, "figure", str(self.figure), "shows the exact answers; add --exact")
            require_figure(self.figure)
        if self.episodes is not None:
            require_count("episodes", self.episodes, least=2)
        require(0 <= self.seed < SEEDS, "seed", self.seed, f"must be from 0 to {SEEDS - 1}")
        if self.environment is not None:
            named = is_file(self.environment)
            remedy = "is for an environment of your own, FILE.py:CLASS; leave it out"
            require(named, "environment", self.environment, remedy)
        if self.risk_aversion is not None:
            require_positive("risk_aversion", self.risk_aversion)


COMMAND = Command("evaluate", "Play fresh episodes with the policy of a run.", options_of(EvaluateOptions))


def run(words: Sequence[str]) -> int:
    """Do what the words of the command line ask for."""
    if wants_help(words):
        show_help(COMMAND)
        return DONE
    options = EvaluateOptions(**read_words(COMMAND, words).values)
    keep_compiled()
    from fenchel.training import load

    own = [] if options.environment is None else [class_in(options.environment)]
    result = load(options.run_dir, own=own)
    objective = _objective(result, options)
    record = _record(result, objective, options)
    if options.exact:
        record["exact"] = _split(result, objective, options)
    if options.json:
        write_json(record)
    else:
        write_tables([table(str(options.run_dir), _rows(record))])
    return DONE


def _objective(result: "TrainResult", options: EvaluateOptions) -> "AbstractObjective":
    """The objective of the run, or the one that was asked for."""
    from fenchel.cli.describe import name_in
    from fenchel.objectives import OBJECTIVES, make_objective, objective_fields
    from fenchel.training.precision import require_all_held

    said = ((name, getattr(options, name, None)) for name in OBJECTIVE_FIELDS)
    given = {name: value for name, value in said if value is not None}
    if options.objective is None and not given:
        return result.objective
    wanted = options.objective or name_in(OBJECTIVES, type(result.objective))
    require_choice("objective", wanted, OBJECTIVES)
    own = objective_fields(OBJECTIVES[wanted])
    kept = {
        field: float(getattr(result.objective, field)) for field in own if hasattr(result.objective, field)
    }
    chosen = make_objective(wanted, **(kept | given))
    require_all_held(chosen)
    return chosen


def _split(
    result: "TrainResult", objective: "AbstractObjective", options: EvaluateOptions
) -> dict[str, float]:
    """The exact value of the policy, and where it falls short of the optimum."""
    from fenchel.exact import split
    from fenchel.report import plot_policy

    found = split(result.env, result.policy, objective)
    law = found.played.law
    if options.figure is not None:
        save(plot_policy(found.played, title=f"{options.run_dir}: {found.value:.6g}"), options.figure)
    return {
        **{"mean": law.mean, "std": law.std, "value": found.value},
        **{"optimum": found.optimum, "upper": found.within.optimum.upper},
        **{"class_optimum": found.within.value, "class_loss": found.class_loss},
        "learning_loss": found.learning_loss,
    }


def _record(
    result: "TrainResult", objective: "AbstractObjective", options: EvaluateOptions
) -> dict[str, Any]:
    import numpy as np

    from fenchel.cli.describe import describe_result, name_in
    from fenchel.objectives import OBJECTIVES

    started = time.perf_counter()
    with compile_clock() as compiling:
        sample = result.sample(options.episodes, seed=options.seed)
    seconds, compile_seconds = time.perf_counter() - started, compiling()
    evaluation, returns = sample.evaluate(objective), sample.returns
    with np.errstate(invalid="ignore"):
        quantiles = {str(level): float(np.quantile(returns, level)) for level in QUANTILES}
    aversion = getattr(objective, "risk_aversion", None)
    return {
        **describe_result(result),
        "objective": name_in(OBJECTIVES, type(objective)),
        "risk_aversion": None if aversion is None else float(aversion),
        "seed": options.seed,
        "mean": evaluation.mean,
        "std": evaluation.std,
        "standard_error": evaluation.standard_error,
        "value": evaluation.value,
        "best_dual": evaluation.dual,
        "quantiles": quantiles,
        "risks": {name: found._asdict() for name, found in _risks(sample, objective).items()},
        "episodes": evaluation.episodes,
        "evaluation_episodes": evaluation.episodes,
        "training_episodes": result.episodes,
        "seconds": max(seconds - compile_seconds, 0.0),
        "compile_seconds": compile_seconds,
    }


def _risks(sample: "Sample", objective: "AbstractObjective") -> dict[str, "Interval"]:
    """Empirical risk measures, with the numbers of the objective where it has them."""
    import numpy as np

    from fenchel.objectives import CVaR, Entropic, Sharpe

    kinds = ((CVaR, "level"), (Entropic, "risk_aversion"), (Sharpe, "benchmark"))
    own = {name: float(getattr(objective, name)) for kind, name in kinds if isinstance(objective, kind)}
    return sample.risks(**own) if bool(np.all(np.isfinite(sample.returns))) else {}


ROWS = (
    *(
        "environment",
        "algorithm",
        "objective",
        "risk_aversion",
        "mean",
        "standard_error",
        "std",
        "value",
        "dual",
    ),
    *("episodes", "training_episodes", "seconds", "compile_seconds", "status", "fault"),
)


def _rows(record: dict[str, Any]) -> list[tuple[str, Any]]:
    rows = [(name.replace("_", " "), record[name]) for name in ROWS if record[name] is not None]
    rows += [(f"exact {name.replace('_', ' ')}", value) for name, value in record.get("exact", {}).items()]
    rows += [(f"quantile {level}", value) for level, value in record["quantiles"].items()]
    return [*rows, *((name.replace("_", " "), _interval(found)) for name, found in record["risks"].items())]


def _interval(found: dict[str, float]) -> str:
    return f"{found['estimate']:.6g} ({found['low']:.6g} … {found['high']:.6g})"
