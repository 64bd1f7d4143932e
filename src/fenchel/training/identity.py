"""What makes two configurations the same: canonical JSON, its hash, and a readable list of differences."""

import hashlib
import json
from typing import Any

from fenchel.errors import InputError

SHOWN = 60
"""Characters of a value shown in a difference."""


class _Absent:
    """Stands for a key or an index that the other side does not have."""


def to_json(obj: Any, indent: int | None = None) -> str:
    """JSON with sorted keys, in ASCII; arrays become lists, and NaN and Infinity stay as Python writes them.

    >>> to_json({"b": 1.0, "a": (True, None)})
    '{"a":[true,null],"b":1.0}'
    """
    separators = (",", ":") if indent is None else (",", ": ")
    try:
        return json.dumps(obj, sort_keys=True, indent=indent, separators=separators, default=_plain)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError("JSON", type(obj).__name__, f"cannot be written as JSON ({error})") from None


def as_stored(obj: Any) -> Any:
    """`obj` as it comes back from a file: tuples are lists, keys are strings.

    >>> as_stored({"shape": (2, 3)})
    {'shape': [2, 3]}
    """
    return json.loads(to_json(obj))


def fingerprint(config: Any) -> str:
    """The identity of a configuration: sha256 of its canonical JSON. Order of keys does not matter.

    >>> fingerprint({"seed": 1, "steps": 2}) == fingerprint({"steps": 2, "seed": 1})
    True
    """
    return hashlib.sha256(to_json(as_stored(config)).encode()).hexdigest()


def differences(old: Any, new: Any) -> list[str]:
    """One line per value that differs, with its dotted path.

    >>> differences({"objective": {"risk_aversion": 1.0}}, {"objective": {"risk_aversion": 2.0}})
    ['objective.risk_aversion: 1.0 → 2.0']
    """
    return _differences("", as_stored(old), as_stored(new))


def _differences(path: str, old: Any, new: Any) -> list[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        return _each(path, sorted(old.keys() | new.keys()), old, new)
    if isinstance(old, list) and isinstance(new, list):
        size = range(max(len(old), len(new)))
        return _each(path, [str(k) for k in size], _indexed(old), _indexed(new))
    if _shown(old) == _shown(new):
        return []
    return [f"{path or 'config'}: {_short(old)} → {_short(new)}"]


def _each(path: str, names: list[str], old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    prefix = f"{path}." if path else ""
    pairs = [(f"{prefix}{_one_line(name)}", old.get(name, _Absent), new.get(name, _Absent)) for name in names]
    return [line for pair in pairs for line in _differences(*pair)]


def _indexed(values: list[Any]) -> dict[str, Any]:
    return {str(k): value for k, value in enumerate(values)}


def _shown(value: Any) -> str:
    if value is _Absent:
        return "(absent)"
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return text if text.isprintable() else json.dumps(value, sort_keys=True)


def _one_line(name: str) -> str:
    return name if name.isprintable() else json.dumps(name)


def _short(value: Any) -> str:
    text = _shown(value)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


def _plain(obj: Any) -> Any:
    if hasattr(obj, "tolist"):
        return obj.tolist()
    raise TypeError(f"{type(obj).__name__} is no JSON type")
