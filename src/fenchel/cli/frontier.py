"""`fenchel frontier`: the best policies over a grid of risk aversions, and one for a risk budget."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fenchel.cli.allocation import allocation_tables, holdings, note_assets, read
from fenchel.cli.cache import keep_compiled
from fenchel.cli.environment import build, parameters_in
from fenchel.cli.figure import require_figure, save
from fenchel.cli.flags import Command, read_words, show_help, wants_help
from fenchel.cli.options import options_of
from fenchel.cli.output import DIVERGED, DONE, say, table, write_json, write_tables
from fenchel.errors import InputError, require, require_count, require_number, require_positive

if TYPE_CHECKING:
    from rich.table import Table

    from fenchel.studies import Frontier


@dataclass(frozen=True)
class FrontierOptions:
    """What may be said about a frontier."""

    environment: str
    """the environment, a name that `fenchel list` shows, or FILE.py:CLASS; its parameters are set by
    --env.NAME VALUE"""
    preset: str | None = None
    """The citation whose numbers the environment takes."""
    objective: str = "mean-variance"
    """What to learn for: mean-variance, entropic, cvar, semivariance, gini, sharpe, reward-volatility or
    variance-bound."""
    grid: tuple[float, ...] | None = None
    """Risk aversions (seven from 0.01 to 10 if not given); of cvar levels (five from 0.05 to 1 if not given),
    of sharpe benchmarks, of variance-bound the bounds."""
    seeds: int | None = None
    """Learners per risk aversion, the best of which counts; four by default, or one where the environment has
    derivatives."""
    seed: int = 0
    """The first of their seeds."""
    episodes: int | None = None
    """How many episodes each of them learns from; by default 1,000,000, or 400,000 with derivatives."""
    data: Path | None = None
    """For allocation: a .csv or .parquet file with a column per asset and a row per date, oldest first."""
    kind: str = "prices"
    """What it holds: prices, or net returns."""
    holdout: float = 0.2
    """Share of its rows, the last ones, that nothing is learned from."""
    variance_at_most: float | None = None
    """Also name the policy with the greatest mean under this bound."""
    mean_at_least: float | None = None
    """Also name the policy with the least variance above this bound."""
    all_seeds: bool = False
    """Show the points of every seed, not only of the best."""
    out: Path | None = None
    """Keep the frontier, policies included, in this directory."""
    figure: Path | None = None
    """Draw the frontier to this .png, .svg or .pdf file."""
    json: bool = False
    """Print one JSON object instead of tables."""
    quiet: bool = False
    """Show no progress."""

    def __post_init__(self) -> None:
        for value in self.grid or ():
            (require_number if self.objective == "sharpe" else require_positive)("grid", value)
        for name in ("seeds", "episodes"):
            if getattr(self, name) is not None:
                require_count(name, getattr(self, name))
        require_count("seed", self.seed, least=0)
        if self.data is not None:
            remedy = "goes with the environment allocation"
            require(self.environment == "allocation", "data", str(self.data), remedy)
        both = self.variance_at_most is not None and self.mean_at_least is not None
        require(not both, "mean_at_least", self.mean_at_least, "cannot be given with --variance-at-most")
        if self.figure is not None:
            require_figure(self.figure)
        if self.out is not None:
            place = str(self.out)
            require(not self.out.exists(), "out", place, "exists already; name a new directory")


COMMAND = Command(
    "frontier",
    "Learn the best policies over a grid of risk aversions, and measure them against the certified optimum.",
    options_of(FrontierOptions),
    has_parameters=True,
)


def run(words: Sequence[str]) -> int:
    """Do what the words of the command line ask for."""
    if wants_help(words):
        show_help(COMMAND, parameters_in(COMMAND, [word for word in words if not wants_help([word])]))
        return DONE
    values, parameters = read_words(COMMAND, words)
    options = FrontierOptions(**values)
    source = None if options.data is None else read(options.data, options.kind, options.holdout, parameters)
    keep_compiled()
    env = source.env if source else build(options.environment, options.preset, "state", parameters)
    found = _learn(options, env)
    record, unmet = _record(options, found)
    if options.environment == "allocation" and found.points:
        record |= holdings(found, source, record["picked"])
    if options.out is not None:
        found.save(options.out)
        if "allocation" in record:
            note_assets(options.out, record["allocation"])
    if options.figure is not None:
        save(_figure(options, found, record), options.figure)
    if unmet is not None:
        raise unmet
    for failure in found.failed:
        say(f"risk aversion {failure.risk_aversion:g}, seed {failure.seed} diverged: {failure.fault}")
    if options.json:
        write_json(record)
    else:
        write_tables([*_tables(options.environment, record), *allocation_tables(record)])
    return DIVERGED if len(found.failed) == len(found.every) else DONE


def _learn(options: FrontierOptions, env: Any) -> "Frontier":
    from fenchel.studies import frontier
    from fenchel.studies.frontiers import default_seeds
    from fenchel.training import Interrupted
    from fenchel.training.progress import ProgressBar

    bar = ProgressBar()
    settings: dict[str, Any] = {} if options.episodes is None else {"episodes": options.episodes}
    try:
        return frontier(
            env,
            objective=options.objective,
            grid=options.grid,
            seeds=range(options.seed, options.seed + (options.seeds or default_seeds(env))),
            callbacks=[] if options.quiet else [bar],
            **settings,
        )
    except Interrupted:
        raise KeyboardInterrupt("interrupted; nothing is kept of a frontier that was not finished") from None
    finally:
        bar.close()


def _figure(options: FrontierOptions, found: "Frontier", record: dict[str, Any]) -> Any:
    title = f"{options.environment}: {found.objective}"
    if "allocation" not in record:
        return found.plot(title=title)
    from fenchel.report import plot_allocation

    about = record["allocation"]
    return plot_allocation(found, about["weights"], about["assets"], title=title, shown=about["shown"])


def _record(options: FrontierOptions, found: "Frontier") -> tuple[dict[str, Any], InputError | None]:
    """What there is to say, and why no policy meets the budget if none does: it is kept before."""
    budget = {"variance_at_most": options.variance_at_most, "mean_at_least": options.mean_at_least}
    said = {name: value for name, value in budget.items() if value is not None}
    picked, unmet = None, None
    try:
        picked = found.pick(**said).asdict() if said else None
    except InputError as error:
        unmet = error
    record = {
        "environment": options.environment,
        "preset": options.preset,
        "objective": found.objective,
        "points": found.table(all_seeds=options.all_seeds),
        "picked": picked,
        "exact": found.exact,
        "failed": [vars(failure) for failure in found.failed],
        "out": None if options.out is None else str(options.out),
        "figure": None if options.figure is None else str(options.figure),
        "seconds": found.seconds,
        "status": "diverged" if len(found.failed) == len(found.every) else "done",
    }
    return record, unmet


def _tables(name: str, record: dict[str, Any]) -> Iterator["Table"]:
    columns = ("risk_aversion", "mean", "std", "value", "optimum", "score", "seed")
    shown = [column.replace("_", " ") for column in columns]
    rows = ([point[column] for column in columns] for point in record["points"])
    yield table(f"{name}, {record['objective']}", rows, shown)
    if record["picked"] is not None:
        yield table("for the budget", ([record["picked"][column] for column in columns],), shown)
    kept = {key: record[key] for key in ("seconds", "out", "figure") if record[key] is not None}
    yield table("", kept.items())
