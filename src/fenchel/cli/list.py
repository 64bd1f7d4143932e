"""`fenchel list`: what there is to choose from."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
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
            name: {
                "summary": recipe.summary,
                "objective": recipe.objective,
                "parameters": _arguments(recipe.build),
            }
            for name, recipe in ALGORITHMS.items()
        },
        "objectives": {name: _objective(cls) for name, cls in OBJECTIVES.items()},
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


def _objective(cls: Any) -> dict[str, Any]:
    """What there is to say about an objective; its fields are settings, and have their help."""
    about = {option.name: option.help for option in options_of(Settings)}
    parameters = {
        field.name: {"default": field.default, "help": about.get(field.name, "")} for field in fields(cls)
    }
    return {"summary": _summary(cls), "parameters": parameters}


def _arguments(build: Any) -> dict[str, dict[str, Any]]:
    """What an algorithm takes in Python; options of its blocks are read off what it builds without any."""
    named = [one for one in inspect.signature(build).parameters.values() if one.kind is not one.VAR_KEYWORD]
    found = {one.name: one.default for one in named}
    for block in getattr(build(), "blocks", ()):
        if block.where == ("dual",):
            found["dual_prox"] = block.prox
        else:
            found |= {"policy_optimizer": block.optimizer, "policy_prox": block.prox}
            found["policy_mirror"] = block.mirror
    return {name: {"default": _plain(value)} for name, value in found.items()}


def _plain(value: Any) -> Any:
    """A default as JSON has it: objects by name."""
    from fenchel.ascent.blocks import PLAIN

    if value is PLAIN:
        return "sgd"
    plain = value is None or isinstance(value, bool | int | float | str | tuple)
    return value if plain else type(value).__name__.lower()


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
