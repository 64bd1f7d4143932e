"""An environment of the user's own, as FILE.py:CLASS."""

import dataclasses
import importlib.util
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from fenchel.cli.options import Option, arms
from fenchel.errors import FenchelError, InputError, require, require_choice

if TYPE_CHECKING:
    from fenchel.envs import AbstractEnvironment

SUFFIX = ".py"
SETTABLE: dict[str, type] = {kind.__name__: kind for kind in (float, int, bool, str)}
"""Types of fields that can be set on a command line, by name: annotations may be text."""


def is_file(name: str) -> bool:
    """Whether a name is that of a file of Python, with or without a class.

    >>> is_file("runs/gamble.py:Gamble"), is_file("gamble.py"), is_file("option")
    (True, True, False)
    """
    return _split(name)[0].endswith(SUFFIX)


def class_in(name: str) -> "type[AbstractEnvironment]":
    """The class that FILE.py:CLASS names. The file is executed, as an import would."""
    from fenchel.envs import AbstractEnvironment

    written, wanted = _split(name)
    module = _executed(name, Path(written).resolve())
    found = {
        key: value
        for key, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, AbstractEnvironment)
    }
    own = [key for key, cls in found.items() if cls.__module__ == module.__name__]
    listed = ", ".join(f"{written}:{key}" for key in own) or f"none in {written} yet"
    require(bool(wanted), "environment", name, f"needs the name of a class: {listed}")
    require(hasattr(module, wanted), "environment", name, f"is not in the file; there is {listed}")
    remedy = f"is no environment, a class derived from fenchel.AbstractEnvironment; there is {listed}"
    require(wanted in found, "environment", name, remedy)
    return found[wanted]


def fields_of(cls: type) -> list[Option]:
    """The fields of a class that a command line can set: numbers, switches and text."""
    options = []
    for field in dataclasses.fields(cls):
        text = isinstance(field.type, str)
        declared = SETTABLE.get(field.type.strip("\"'")) if text else field.type
        default = None if field.default is dataclasses.MISSING else field.default
        if field.init and all(arm in SETTABLE.values() for arm in arms(declared)):
            options.append(Option(field.name, declared, default, field.metadata.get("help", "")))
    return options


def checked(
    name: str, cls: "type[AbstractEnvironment]", preset: str | None, fields: Mapping[str, Any]
) -> "AbstractEnvironment":
    """An environment of the class, once it is known to keep the contract."""
    from fenchel.envs import check_env

    presets = getattr(cls, "PRESETS", {})
    if preset is not None:
        require(bool(presets), "preset", preset, f"{cls.__name__} has none; leave it out")
        require_choice("preset", preset, presets)
    with _told(name, "cannot be made"):
        env = cls(**{**presets.get(preset, {}), **fields})
    with _told(name, "fails when it is played"):
        try:
            check_env(env)
        except InputError as error:
            raise InputError("environment", name, f"breaks the contract of environments: {error}") from None
    return env


def _split(name: str) -> tuple[str, str]:
    """File and class; the last colon divides them, for a path may have one of its own."""
    head, colon, tail = name.rpartition(":")
    return (head, tail) if colon and head.endswith(SUFFIX) else (name, "")


def _executed(name: str, path: Path) -> ModuleType:
    """The file as a module of its own name, so that its classes are called the same when it is imported."""
    require(path.is_file(), "environment", name, f"there is no file {path}")
    known = sys.modules.get(path.stem)
    if known is not None:
        same = Path(getattr(known, "__file__", None) or "").resolve() == path
        require(same, "environment", name, f"{path.stem} is a module that is in use: rename the file")
        return known
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    sys.modules[path.stem] = module
    try:
        with _told(name, "cannot be imported"):
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[path.stem]
        raise
    return module


@contextmanager
def _told(name: str, what: str) -> Iterator[None]:
    """An error in the user's code, in one line that says where."""
    try:
        yield
    except FenchelError:
        raise
    except (Exception, SystemExit) as error:
        said = f"{what}: {_place(error, Path(_split(name)[0]).resolve())}{type(error).__name__}: {error}"
        raise InputError("environment", name, said.split("\n", maxsplit=1)[0]) from error


def _place(error: BaseException, path: Path) -> str:
    """The line of the file that an error came from, if it came from there."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return f"line {error.lineno}, "
    lines = [one.lineno for one in traceback.extract_tb(error.__traceback__) if one.filename == str(path)]
    return f"line {lines[-1]}, " if lines else ""
