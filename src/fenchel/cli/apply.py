"""`fenchel apply`: what a saved allocation policy holds now, on new rows of data."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fenchel.cli.allocation import NOTE, SHOWN
from fenchel.cli.cache import keep_compiled
from fenchel.cli.flags import Command, read_words, show_help, wants_help
from fenchel.cli.options import options_of
from fenchel.cli.output import DONE, table, write_json, write_tables
from fenchel.errors import require, require_count, require_number, require_positive

if TYPE_CHECKING:
    from fenchel.data import AssetReturns
    from fenchel.envs import Allocation
    from fenchel.studies.frontiers import Point


@dataclass(frozen=True)
class ApplyOptions:
    """What may be said about a decision."""

    directory: Path
    """where `fenchel frontier allocation --out` kept the policies"""
    data: Path | None = None
    """New rows, oldest first: prices at the date decided on first and those after it, or returns of the
    periods after it. The last row is now."""
    kind: str | None = None
    """prices or returns; by default what the policy was learned with."""
    step: int = 0
    """Dates that had passed before the first row."""
    wealth: float | None = None
    """Wealth then; by default that of the start."""
    risk_aversion: float | None = None
    """Which policy: the one learned for the nearest risk aversion; 1 by default."""
    variance_at_most: float | None = None
    """Or the one with the greatest mean under this bound."""
    mean_at_least: float | None = None
    """Or the one with the least variance above this bound."""
    json: bool = False
    """Print one JSON object instead of a table."""

    def __post_init__(self) -> None:
        require_count("step", self.step, least=0)
        if self.wealth is not None:
            require_number("wealth", self.wealth)
        if self.risk_aversion is not None:
            require_positive("risk_aversion", self.risk_aversion)


COMMAND = Command(
    "apply", "Say what a saved allocation policy holds, date by date.", options_of(ApplyOptions)
)


def run(words: Sequence[str]) -> int:
    """Do what the words of the command line ask for."""
    if wants_help(words):
        show_help(COMMAND)
        return DONE
    options = ApplyOptions(**read_words(COMMAND, words).values)
    keep_compiled()
    record = _record(options)
    if options.json:
        write_json(record)
    else:
        columns = list(record["decisions"][0])
        rows = ([row[name] for name in columns] for row in record["decisions"])
        title = f"amounts to hold, risk aversion {record['risk_aversion']:g}; the last row is now"
        write_tables([table(title, rows, columns)])
    return DONE


def _record(options: ApplyOptions) -> dict[str, Any]:
    from fenchel.envs import Allocation
    from fenchel.studies import Frontier
    from fenchel.studies.allocating import decisions, start_state

    found = Frontier.load(options.directory)
    env, place = found.env, str(options.directory)
    remedy = "holds a frontier of another environment; apply is for allocation"
    if not isinstance(env, Allocation):
        require(False, "directory", place, remedy)
        raise AssertionError
    about = _note(options.directory, env)
    rows = _rows(options, about)
    ahead = env.horizon - options.step
    remedy = f"leaves {ahead} of {env.horizon} dates, and the data have {len(rows) + 1}: give fewer rows"
    require(len(rows) < ahead, "step", options.step, remedy)
    point = _point(found, options)
    start = start_state(env, options.step, options.wealth)
    amounts, wealth = decisions(env, point.policy, rows.gross, start)
    listed = []
    for passed, (held, owned) in enumerate(zip(amounts, wealth, strict=True)):
        row: dict[str, Any] = {"step": options.step + passed}
        if rows.dates is not None and len(rows.dates) == len(wealth):
            row["date"] = rows.dates[passed]
        shares = dict(zip(rows.assets, map(float, held), strict=True))
        listed.append({**row, "wealth": float(owned), **shares, "cash": float(owned - held.sum())})
    return {
        "directory": place,
        "risk_aversion": point.risk_aversion,
        "assets": list(rows.assets),
        "decisions": listed,
        "status": "done",
    }


def _note(directory: Path, env: "Allocation") -> dict[str, Any]:
    """Names of the columns; of a frontier saved from Python, numbers."""
    note = directory / NOTE
    if note.exists():
        kept: dict[str, Any] = json.loads(note.read_text())
        return kept
    return {"assets": [f"asset {i + 1}" for i in range(env.assets)], "kind": None}


def _rows(options: ApplyOptions, about: dict[str, Any]) -> "AssetReturns":
    import numpy as np

    from fenchel.data import AssetReturns, load_rows

    names = tuple(about["assets"])
    if options.data is None:
        return AssetReturns(names, np.ones((0, len(names))))
    return load_rows(options.data, names, options.kind or about["kind"] or "prices")


def _point(found: Any, options: ApplyOptions) -> "Point":
    names = ("risk_aversion", "variance_at_most", "mean_at_least")
    said = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    point: Point = found.pick(**(said or {"risk_aversion": SHOWN}))
    return point
