"""What tells apart two functions of the same name."""

import hashlib
from types import CodeType, FunctionType
from typing import Any

from fenchel.training.identity import to_json


def insides(function: FunctionType) -> dict[str, Any]:
    """Closure, defaults, and of a lambda, which has no name of its own, a hash of its code.

    >>> def scaled(factor):
    ...     def apply(x):
    ...         return factor * x
    ...
    ...     return apply
    >>> insides(scaled(2.0))
    {'closure': {'factor': 2.0}}
    """
    names, cells = function.__code__.co_freevars, function.__closure__ or ()
    defaults = function.__defaults__ or ()
    parts = {
        "closure": {name: _content(cell) for name, cell in zip(names, cells, strict=True)},
        "defaults": defaults if any(value is not None for value in defaults) else (),
        "keywords": function.__kwdefaults__,
        "code": _code(function.__code__) if function.__name__ == "<lambda>" else None,
    }
    return {name: part for name, part in parts.items() if part}


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a name that is not bound yet
        return None


def _code(code: CodeType) -> str:
    parts = (
        code.co_code.hex(),
        code.co_names,
        code.co_varnames,
        [_constant(value) for value in code.co_consts],
    )
    return hashlib.sha256(to_json(parts).encode()).hexdigest()


def _constant(value: Any) -> Any:
    """A constant of the code as text; sets have a different order in every process."""
    if isinstance(value, CodeType):
        return _code(value)
    return sorted(map(repr, value)) if isinstance(value, frozenset) else repr(value)
