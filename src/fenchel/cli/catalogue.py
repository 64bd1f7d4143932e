"""Everything that has a name, with what can be said about it."""

import inspect
from dataclasses import fields
from typing import Any

from fenchel.cli.options import options_of, type_name
from fenchel.settings import Settings


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
    from fenchel.ascent.algorithms import ADAM
    from fenchel.ascent.blocks import PLAIN

    for optimizer, name in ((PLAIN, "sgd"), (ADAM, "adam")):
        if value is optimizer:
            return name
    plain = value is None or isinstance(value, bool | int | float | str | tuple)
    return value if plain else type(value).__name__.lower()


def _field(declared: Any, default: Any, text: str) -> dict[str, Any]:
    return {"type": type_name(declared), "default": default, "help": text}


def _summary(thing: Any) -> str:
    return (thing.__doc__ or "").strip().split("\n", maxsplit=1)[0]
