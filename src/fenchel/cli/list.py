"""`fenchel list`: what there is to choose from."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fenchel.cli.catalogue import catalogue
from fenchel.cli.flags import ENV, Command, read_words, show_help, wants_help
from fenchel.cli.options import as_default, as_text, options_of
from fenchel.cli.output import DONE, table, write_json, write_tables

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True)
class ListOptions:
    """What may be said about the list."""

    json: bool = False
    """Print one JSON object instead of tables."""


COMMAND = Command(
    "list",
    "Show environments with their parameters, algorithms, objectives, policies, features and settings.",
    options_of(ListOptions),
)

FIELDS = ("type", "default", "help")


def run(words: Sequence[str]) -> int:
    """Do what the words of the command line ask for."""
    if wants_help(words):
        show_help(COMMAND)
        return DONE
    options = ListOptions(**read_words(COMMAND, words).values)
    data = catalogue()
    if options.json:
        write_json(data)
    else:
        write_tables(_tables(data))
    return DONE


def _tables(data: dict[str, Any]) -> Iterator["Table"]:
    for name, about in data["environments"].items():
        parameters = _fields(f"--{ENV}", about["parameters"])
        yield table(f"environment {name}: {about['summary']}", parameters, ("parameter", *FIELDS))
        yield table("", ((f"--preset {preset}", _changes(to)) for preset, to in about["presets"].items()))
    algorithms = ((name, row["objective"], row["summary"]) for name, row in data["algorithms"].items())
    yield table("algorithms", algorithms, ("--algorithm", "objective", ""))
    title = "arguments of algorithms in Python; `train` measures a policy step size that it is not given"
    yield table(title, _defaults(data["algorithms"]), ("algorithm", "arguments and defaults"))
    objectives = ((name, row["summary"]) for name, row in data["objectives"].items())
    yield table("objectives", objectives, ("--objective", ""))
    yield table("", _objective_rows(data["objectives"]), ("objective", "parameter", "default", "help"))
    names = (("--policy", ", ".join(data["policies"])), ("--features", ", ".join(data["features"])))
    yield table("policies", names)
    yield table("settings", _fields("--", data["settings"]), ("setting", *FIELDS))


def _fields(prefix: str, fields: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, ...]]:
    for name, field in fields.items():
        default = as_default(field["default"])
        yield f"{prefix}{name.replace('_', '-')}", field["type"], default, field["help"]


def _defaults(algorithms: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, about in algorithms.items():
        given = about["parameters"].items()
        yield name, ", ".join(f"{field} {as_default(row['default'])}" for field, row in given)


def _objective_rows(objectives: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for name, about in objectives.items():
        for field, row in about["parameters"].items():
            yield name, f"--{field.replace('_', '-')}", as_default(row["default"]), row["help"]


def _changes(preset: Mapping[str, Any]) -> str:
    changes = ", ".join(f"{name.replace('_', '-')} {as_text(value)}" for name, value in preset.items())
    return changes or "the defaults"
