"""From a description back to the object, without ever importing what a file names."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp

from fenchel.ascent.blocks import PLAIN
from fenchel.errors import InputError, require
from fenchel.training.names import ACTIVATIONS, classes

REMEDY = "cannot be rebuilt from a file; pass the object in Python"


def build(description: Any) -> Any:
    """The object that `describe` described, with zeros for its arrays, to be filled from a checkpoint.

    Fields are set as they were, past `__init__`; what a class checks of itself is checked again wherever no
    zeros stand in for the real values.

    >>> build({"type": "objectives.MeanVariance", "risk_aversion": 2.0})
    MeanVariance(risk_aversion=2.0)
    """
    if isinstance(description, list):
        return tuple(build(value) for value in description)
    if not isinstance(description, dict):
        return description
    for mark, make in _MAKERS.items():
        if mark in description:
            return make(description)
    return {name: build(value) for name, value in description.items()}


def _object(description: dict[str, Any]) -> Any:
    for known, optimizer in _optimizers():
        if description == known:
            return optimizer
    name = description["type"]
    cls = classes().get(name) if isinstance(name, str) else None
    if cls is None:
        raise InputError("type", name, REMEDY)
    given = {
        ("type" if key == "type_" else key): value for key, value in description.items() if key != "type"
    }
    values = _complete(cls, {key: build(value) for key, value in given.items()})
    if not issubclass(cls, eqx.Module):
        return cls(**values)
    module = object.__new__(cls)
    for key, value in values.items():
        object.__setattr__(module, key, value)
    if is_whole(description):
        _check(module)
    return module


def _complete(cls: Any, given: dict[str, Any]) -> dict[str, Any]:
    """All fields of `cls`, the defaults of those not given included."""
    values = {**_defaults(cls), **given}
    for name in values.keys() - set(_names(cls)):
        raise InputError(name, values[name], f"is no field of {cls.__name__}; the file is of another version")
    for name in set(_names(cls)) - values.keys():
        raise InputError(name, None, f"is missing for {cls.__name__}; the file is of another version")
    return values


def _names(cls: Any) -> list[str]:
    if issubclass(cls, tuple):
        return list(cls._fields)
    return [field.name for field in dataclasses.fields(cls)]


def _defaults(cls: Any) -> dict[str, Any]:
    if issubclass(cls, tuple):
        return dict(cls._field_defaults)
    fields = {field.name: field for field in dataclasses.fields(cls)}
    return {name: field.default for name, field in fields.items() if field.default is not dataclasses.MISSING}


def is_whole(description: Any) -> bool:
    """Whether no array is a placeholder."""
    if isinstance(description, dict):
        return "array" not in description and all(is_whole(value) for value in description.values())
    return not isinstance(description, list) or all(is_whole(value) for value in description)


def _check(module: eqx.Module) -> None:
    for cls in type(module).__mro__:
        check = vars(cls).get("__check_init__", lambda module: None)
        try:
            check(module)
        except (TypeError, AttributeError) as error:
            raise InputError(
                "type", type(module).__name__, f"has a field of a wrong kind ({error})"
            ) from None


def _zeros(description: dict[str, Any]) -> Any:
    shape, dtype = description["array"], description.get("dtype")
    whole = isinstance(shape, list) and all(isinstance(size, int) and size >= 0 for size in shape)
    require(whole, "array", shape, "must be a list of sizes")
    try:
        return jnp.zeros(tuple(shape), dtype)
    except TypeError as error:
        raise InputError("dtype", dtype, f"must be the name of a type of number ({error})") from None


def _activation(description: dict[str, Any]) -> Any:
    name = description["function"]
    known = isinstance(name, str) and name in ACTIVATIONS and len(description) == 1
    require(known, "function", name, REMEDY)
    return ACTIVATIONS[name]


def _foreign(description: dict[str, Any]) -> Any:
    raise InputError("config", sorted(description), REMEDY)


_MAKERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "type": _object,
    "array": _zeros,
    "function": _activation,
    "list": lambda description: list(build(description["list"])),
    "dict": lambda description: dict(build(description["dict"])),
    **dict.fromkeys(("class", "cycle", "deeper", "key", "module", "set"), _foreign),
}


@functools.cache
def _optimizers() -> list[tuple[Any, Any]]:
    """The transformations that settings can name: functions, but ones that fenchel itself defines."""
    from fenchel.training.config import describe
    from fenchel.training.resolve import ADAM

    return [(describe(optimizer), optimizer) for optimizer in (PLAIN, ADAM)]
