"""Objects as JSON, for the identity of a run, and back again for what fenchel itself defines."""

import dataclasses
import functools
import hashlib
import re
import types
from collections.abc import Iterable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from fenchel.training.build import build
from fenchel.training.functions import insides
from fenchel.training.identity import differences, fingerprint, to_json
from fenchel.training.names import ACTIVATIONS, qualified

__all__ = ["build", "describe", "differences", "fingerprint"]

DEPTH = 32
"""How far closures and foreign objects are followed."""
MARKS = frozenset(
    {"array", "class", "cycle", "deeper", "dict", "function", "key", "list", "module", "repr", "set", "type"}
)
"""Keys with a meaning; a dictionary that has one of its own is written as pairs."""


def describe(obj: Any) -> Any:
    """JSON that is equal for equal objects and free of memory addresses, the same in every process.

    A module is its class and fields, an array its shape, type and hash, a function its name, closure and
    defaults; a lambda, having no name, is its code too. A tuple is a list, and a list is marked as one.

    >>> from fenchel.objectives import MeanVariance
    >>> describe({"objective": MeanVariance(2.0), "seed": 1})
    {'objective': {'type': 'objectives.MeanVariance', 'risk_aversion': 2.0}, 'seed': 1}
    """
    return _describe(obj, ())


def _describe(obj: Any, above: tuple[int, ...]) -> Any:
    if obj is None or isinstance(obj, bool):
        return obj
    for kind in (str, int, float):
        if isinstance(obj, kind):
            return kind(obj)
    if id(obj) in above:
        return {"cycle": above[::-1].index(id(obj)) + 1}
    if len(above) >= DEPTH:
        return {"deeper": qualified(type(obj))}
    return _compound(obj, (*above, id(obj)))


def _compound(obj: Any, above: tuple[int, ...]) -> Any:
    if isinstance(obj, np.ndarray | np.generic | jax.Array):
        return _array(obj, above)
    if dataclasses.is_dataclass(obj) and not isinstance(obj, type):
        return _fields(obj, [field.name for field in dataclasses.fields(obj)], above)
    if isinstance(obj, tuple) and hasattr(obj, "_fields"):
        return _fields(obj, obj._fields, above)
    return _container(obj, above)


def _container(obj: Any, above: tuple[int, ...]) -> Any:
    if isinstance(obj, Mapping):
        return _mapping(obj, above)
    if isinstance(obj, tuple | list):
        values = [_describe(value, above) for value in obj]
        return values if isinstance(obj, tuple) else {"list": values}
    if isinstance(obj, set | frozenset):
        return {"set": sorted((_describe(value, above) for value in obj), key=to_json)}
    return _named(obj, above)


def _array(obj: Any, above: tuple[int, ...]) -> Any:
    if jnp.issubdtype(obj.dtype, jax.dtypes.prng_key):
        return {"key": jax.random.key_data(obj).tolist(), "implementation": str(jax.random.key_impl(obj))}
    if obj.ndim == 0:
        return _describe(obj.item(), above)
    array = np.asarray(obj)
    if array.dtype.hasobject:
        return {"array": list(array.shape), "dtype": "object", "values": _describe(array.tolist(), above)}
    digest = hashlib.sha256(array.tobytes()).hexdigest()
    return {"array": list(array.shape), "dtype": str(array.dtype), "sha256": digest}


def _fields(obj: Any, names: Iterable[str], above: tuple[int, ...]) -> dict[str, Any]:
    values = {name: _describe(getattr(obj, name), above) for name in names if hasattr(obj, name)}
    renamed = {("type_" if name == "type" else name): value for name, value in values.items()}
    return {"type": qualified(type(obj)), **renamed}


def _mapping(obj: Mapping[Any, Any], above: tuple[int, ...]) -> dict[str, Any]:
    pairs = [(_describe(key, above), _describe(value, above)) for key, value in obj.items()]
    if all(isinstance(key, str) and key not in MARKS for key, _ in pairs):
        return dict(pairs)
    return {"dict": sorted((list(pair) for pair in pairs), key=to_json)}


def _named(obj: Any, above: tuple[int, ...]) -> dict[str, Any]:
    if isinstance(obj, type):
        return {"class": qualified(obj)}
    if isinstance(obj, types.ModuleType):
        return {"module": obj.__name__}
    if isinstance(obj, functools.partial):
        parts = {"of": obj.func, "args": obj.args, "keywords": obj.keywords}
        return {"function": "functools.partial", **{k: _describe(v, above) for k, v in parts.items()}}
    if callable(obj) and hasattr(obj, "__qualname__"):
        return _function(obj, above)
    if repr(obj) != object.__repr__(obj):
        return {"type": qualified(type(obj)), "repr": re.sub(r" at 0x[0-9a-fA-F]+", "", repr(obj))}
    public = {name: value for name, value in getattr(obj, "__dict__", {}).items() if not name.startswith("_")}
    return _fields(obj, sorted(public), above)


def _function(obj: Any, above: tuple[int, ...]) -> dict[str, Any]:
    for name, known in ACTIVATIONS.items():
        if obj is known:
            return {"function": name}
    owner = getattr(obj, "__self__", None)
    bound = {} if owner is None or isinstance(owner, types.ModuleType) else {"self": owner}
    inner = obj.__func__ if isinstance(obj, types.MethodType) else obj
    while not isinstance(inner, types.FunctionType) and hasattr(inner, "__wrapped__"):
        inner = inner.__wrapped__
    parts = bound | (insides(inner) if isinstance(inner, types.FunctionType) else {})
    return {"function": qualified(obj), **{name: _describe(part, above) for name, part in parts.items()}}
