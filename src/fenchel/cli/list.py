"""`fenchel list`: what there is to choose from."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fenchel.cli.flags import ENV, Command, read_words, show_help, wants_help
from fenchel.cli.options import as_default, as_text, options_of, type_name
from fenchel.cli.output import DONE, table, write_json, write_tables
from fenchel.settings import Settings

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


def catalogue() -> dict[str, Any]:
    """Everything that has a name."""
    from fenchel.ascent import ALGORITHMS
    from fenchel.envs import ENVIRONMENTS
    from fenchel.objectives import OBJECTIVES
    from fenchel.policies import FEATURES, POLICIES

    return {
        "environments": {name: _environment(cls) for name, cls in ENVIRONMENTS.items()},
        "algorithms": {
            name: {"summary": recipe.summary, "objective": recipe.objective}
            for name, recipe in ALGORITHMS.items()
        },
        "objectives": {name: {"summary": _summary(cls)} for name, cls in OBJECTIVES.items()},
        "policies": list(POLICIES),
        "features": list(FEATURES),
        "settings": {
            option.name: _field(option.type, option.default, option.help) for option in options_of(Settings)
        },
    }


def _environment(cls: Any) -> dict[str, Any]:
    from fenchel.envs import parameters

    fields = {name: _field(*about) for name, about in parameters(cls).items()}
    return {"summary": _summary(cls), "presets": cls.PRESETS, "parameters": fields}


def _field(declared: Any, default: Any, text: str) -> dict[str, Any]:
    return {"type": type_name(declared), "default": default, "help": text}


def _summary(thing: Any) -> str:
    return (thing.__doc__ or "").strip().split("\n", maxsplit=1)[0]


def _tables(data: dict[str, Any]) -> Iterator["Table"]:
    for name, about in data["environments"].items():
        parameters = _fields(f"--{ENV}", about["parameters"])
        yield table(f"environment {name}: {about['summary']}", parameters, ("parameter", *FIELDS))
        yield table("", ((f"--preset {preset}", _changes(to)) for preset, to in about["presets"].items()))
    algorithms = ((name, row["objective"], row["summary"]) for name, row in data["algorithms"].items())
    yield table("algorithms", algorithms, ("--algorithm", "objective", ""))
    objectives = ((name, row["summary"]) for name, row in data["objectives"].items())
    yield table("objectives", objectives, ("--objective", ""))
    names = (("--policy", ", ".join(data["policies"])), ("--features", ", ".join(data["features"])))
    yield table("policies", names)
    yield table("settings", _fields("--", data["settings"]), ("setting", *FIELDS))


def _fields(prefix: str, fields: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, ...]]:
    for name, field in fields.items():
        default = as_default(field["default"])
        yield f"{prefix}{name.replace('_', '-')}", field["type"], default, field["help"]


def _changes(preset: Mapping[str, Any]) -> str:
    changes = ", ".join(f"{name.replace('_', '-')} {as_text(value)}" for name, value in preset.items())
    return changes or "the defaults"
