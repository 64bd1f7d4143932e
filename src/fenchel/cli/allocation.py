"""What `fenchel frontier allocation` adds: data, what is held at each date, and simple rules beside."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fenchel.cli.environment import naming_parameters, parameters_of
from fenchel.cli.flags import convert_parameters
from fenchel.cli.options import Text
from fenchel.cli.output import finite, table

if TYPE_CHECKING:
    from rich.table import Table

    from fenchel.studies import Frontier
    from fenchel.studies.allocating import Market

SHOWN = 1.0
"""Risk aversion of the policy whose holdings are shown, where no budget picks one."""

NOTE = "allocation.json"
"""Beside a saved frontier: the names of the assets, and what the table held."""


def read(path: Path, kind: str, holdout: float, given: Mapping[str, Text]) -> "Market":
    """The environment on a file, the last rows held out."""
    from dataclasses import replace

    from fenchel.data import load_returns
    from fenchel.studies.allocating import market

    fields = convert_parameters(parameters_of("allocation"), given)
    returns = load_returns(path, kind)
    with naming_parameters(fields):
        made = market(returns, holdout=holdout, **fields)
    return replace(made, kind=kind)


def holdings(found: "Frontier", source: "Market | None", picked: Mapping[str, Any] | None) -> dict[str, Any]:
    """What a policy holds at each date, and how it does beside simple rules; for the record."""
    from fenchel.studies.allocating import RULES, comparison, rule_of, weights_by_date, windows

    env: Any = found.env
    rows = [point.asdict() for point in found.every]
    point = found.every[rows.index(dict(picked))] if picked else found.pick(risk_aversion=SHOWN)
    names = source.learned.assets if source else tuple(f"asset {i + 1}" for i in range(env.assets))
    own = rule_of(env, point.policy)
    rules = {"learned": own} | {name: made(env, point.risk_aversion) for name, made in RULES.items()}
    held = windows(source.held.gross, env.horizon) if source else None
    about = {
        "assets": list(names),
        "kind": source.kind if source else None,
        "shown": point.asdict(),
        "weights": weights_by_date(env, own, names),
        "comparison": comparison(env, rules, point.risk_aversion, held),
        "riskless": env.riskless,
        "rows_learned": len(source.learned) if source else None,
        "rows_held_out": len(source.held) if source else None,
        "windows_held_out": None if held is None else len(held),
        "held_out_from": source.held.dates[0] if source and source.held.dates else None,
    }
    return {"allocation": about}


def note_assets(directory: Path, about: Mapping[str, Any]) -> None:
    """Keep what `fenchel apply` has to know of the columns."""
    from fenchel.training.atomic import write_atomic

    kept = {name: about[name] for name in ("assets", "kind")}
    write_atomic(directory / NOTE, (json.dumps(finite(kept)) + "\n").encode())


def allocation_tables(record: Mapping[str, Any]) -> Iterator["Table"]:
    """The additional tables, where there is anything to show."""
    about = record.get("allocation")
    if about is None:
        return
    aversion = about["shown"]["risk_aversion"]
    columns = ["date", "wealth", *about["assets"], "cash"]
    rows = ([row[column] for column in columns] for row in about["weights"])
    yield table(f"mean shares of wealth by date, risk aversion {aversion:g}", rows, columns)
    names = list(about["comparison"][0])
    shown = [name.replace("_", " ") for name in names]
    rows = ([row[name] for name in names] for row in about["comparison"])
    yield table(f"final wealth beside simple rules, value at risk aversion {aversion:g}", rows, shown)
    if about["rows_learned"] is not None:
        since = f", from {about['held_out_from']}" if about["held_out_from"] else ""
        count = f"{about['windows_held_out']:,} stretches of all dates"
        said = f"the last {about['rows_held_out']:,}{since}: {count}"
        facts = [("learned from rows", about["rows_learned"]), ("held out", said)]
        yield table("", [*facts, ("gross rate of cash", about["riskless"])])
