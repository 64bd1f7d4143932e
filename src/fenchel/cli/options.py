"""Options, declared as dataclasses: the annotation is the type, and the docstring is the help."""

import ast
import inspect
import textwrap
import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, NamedTuple

from fenchel.errors import InputError, require, require_number

LONG_NUMBER = 10
"""Digits from which a default is rounded where it is shown; what is computed with is not."""

TRUE, FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")

POSITIONAL = "positional"
"""Key in the metadata of a field that has a default, and is nevertheless written without a flag."""

Text = str | list[str]
"""A value as a user wrote it."""


class Option(NamedTuple):
    """One thing that can be set."""

    name: str
    type: Any
    default: Any
    help: str
    is_positional: bool = False
    """Whether it is written without a flag."""

    @property
    def flag(self) -> str:
        """How it is written on the command line."""
        return flag(self.name)

    @property
    def is_required(self) -> bool:
        """Whether a command line without it is an error."""
        return self.default is MISSING

    @property
    def is_switch(self) -> bool:
        """Whether the flag alone, or the flag with `no-`, is all there is to write."""
        return self.type is bool

    @property
    def is_sequence(self) -> bool:
        """Whether it takes several values."""
        return any(typing.get_origin(arm) is tuple for arm in arms(self.type))

    @property
    def metavar(self) -> str:
        """What may be written for it, as a help page abbreviates it."""
        if self.is_positional:
            return self.name.upper()
        element = arms(typing.get_args(arms(self.type)[0])[0] if self.is_sequence else self.type)[0]
        name = _METAVARS.get(element, "VALUE")
        return f"{name} [{name} ...]" if self.is_sequence else name


_METAVARS: dict[Any, str] = {float: "FLOAT", int: "INT", bool: "BOOL", str: "NAME", Path: "PATH"}


def flag(name: str) -> str:
    """A name as a flag.

    >>> flag("risk_aversion")
    '--risk-aversion'
    """
    return "--" + name.replace("_", "-")


def options_of(cls: type) -> list[Option]:
    """An option per field of a dataclass; those without a default, and those marked so, are positional."""
    hints, docs = typing.get_type_hints(cls), field_docs(cls)
    return [
        Option(
            field.name,
            hints[field.name],
            field.default,
            docs.get(field.name, ""),
            is_positional=field.default is MISSING or POSITIONAL in field.metadata,
        )
        for field in fields(cls)
    ]


def field_docs(cls: type) -> dict[str, str]:
    """The string below each field, which Python itself throws away."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    assert isinstance(definition, ast.ClassDef)
    docs = {}
    for node, below in zip(definition.body, definition.body[1:], strict=False):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            text = getattr(getattr(below, "value", None), "value", None)
            if isinstance(text, str) and isinstance(below, ast.Expr):
                docs[node.target.id] = " ".join(text.split())
    return docs


def pick(cls: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that belong to the fields of `cls`."""
    names = {field.name for field in fields(cls)}
    return {name: value for name, value in values.items() if name in names}


def arms(declared: Any) -> tuple[Any, ...]:
    """The alternatives of a type, None left out."""
    if typing.get_origin(declared) in (typing.Union, types.UnionType):
        return tuple(arm for arm in typing.get_args(declared) if arm is not type(None))
    return (declared,)


def type_name(declared: Any) -> str:
    """A type as Python writes it."""
    return declared.__name__ if isinstance(declared, type) else str(declared).replace("typing.", "")


def as_text(value: Any) -> str:
    """A value as a user would write it.

    >>> as_text((5, 5)), as_text(None), as_text(True)
    ('5 5', 'none', 'true')
    """
    if isinstance(value, tuple | list):
        return " ".join(as_text(item) for item in value)
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def as_default(value: Any) -> str:
    """A default, short enough to read.

    >>> as_default(8 / 9), as_default(0)
    ('0.888889', '0')
    """
    long = isinstance(value, float) and len(repr(value)) > LONG_NUMBER
    return f"{value:.6g}" if long else as_text(value)


def convert(name: str, declared: Any, text: Text) -> Any:
    """What was written, as the declared type.

    >>> convert("episodes", int, "1e6"), convert("hidden", tuple[int, ...], ["32,32"])
    (1000000, (32, 32))
    """
    optional = type(None) in typing.get_args(declared)
    if optional and isinstance(text, str) and text.lower() == "none":
        return None
    for arm in arms(declared)[:-1]:
        try:
            return _convert(name, arm, text)
        except InputError:
            continue
    return _convert(name, arms(declared)[-1], text)


def _convert(name: str, declared: Any, text: Text) -> Any:
    if typing.get_origin(declared) is tuple:
        element = typing.get_args(declared)[0]
        items = [item for part in _listed(text) for item in part.replace(",", " ").split()]
        require(bool(items), name, as_text(text), "must be one value or more")
        return tuple(convert(name, element, item) for item in items)
    if isinstance(text, list):
        raise InputError(name, text, "must be a single value")
    return _SCALARS.get(declared, lambda name, text: declared(text))(name, text)


def _listed(text: Text) -> Iterable[str]:
    return [text] if isinstance(text, str) else text


def _boolean(name: str, text: str) -> bool:
    require(text.lower() in TRUE + FALSE, name, text, "must be true or false")
    return text.lower() in TRUE


def _whole(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        number = 0.5
    require(number.is_integer(), name, text, "must be a whole number")
    return int(number)


_SCALARS: dict[Any, Any] = {bool: _boolean, int: _whole, float: require_number}
