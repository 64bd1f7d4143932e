"""Parameters of an environment: static fields that carry their own help."""

import dataclasses
from numbers import Real
from typing import Any, NamedTuple

import equinox as eqx

from fenchel.errors import require


class Parameter(NamedTuple):
    """One field of an environment, as a command line needs it."""

    type: Any
    default: Any
    help: str


def parameter(default: Any, text: str) -> Any:
    """A field that is part of the program rather than of its data, with one line of help."""
    return eqx.field(static=True, default=default, metadata={"help": text})


def parameters(cls: type) -> dict[str, Parameter]:
    """Name, type, default and help of every parameter of an environment class.

    Example:
        >>> from fenchel.envs import AmericanOption
        >>> parameters(AmericanOption)["horizon"].default
        20
    """
    fields = (field for field in dataclasses.fields(cls) if "help" in field.metadata)
    return {field.name: Parameter(field.type, field.default, field.metadata["help"]) for field in fields}


def require_plain_numbers(env: object) -> None:
    """Raise unless every parameter declared as a float is a Python number: no text, no arrays."""
    for name, declared in parameters(type(env)).items():
        value = getattr(env, name)
        if declared.type is float:
            plain = isinstance(value, Real) and not isinstance(value, bool)
            require(plain, name, value, "must be a plain number")
