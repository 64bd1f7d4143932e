"""Arrays on disk, checked to the bit: safetensors with a checksum over everything, never pickle."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np
import safetensors
import safetensors.numpy
from numpy.typing import NDArray

from fenchel.errors import InputError
from fenchel.training.atomic import DamagedFileError, PathLike, read_bytes, write_atomic
from fenchel.training.identity import as_stored, to_json

Arrays = dict[str, NDArray[Any]]

HEADER = "fenchel"
"""The one key of the file's metadata: with two, their order in the file would be random."""
_DTYPES: dict[str, np.dtype[Any]] = {
    **{f"{kind}{8 * size}": np.dtype(f"<{kind.lower()}{size}") for kind in "IU" for size in (1, 2, 4, 8)},
    **{f"F{8 * size}": np.dtype(f"<f{size}") for size in (2, 4, 8)},
    "BOOL": np.dtype(bool),
    "C64": np.dtype("<c8"),
    "BF16": np.dtype(ml_dtypes.bfloat16),
    "F8_E4M3": np.dtype(ml_dtypes.float8_e4m3fn),
    "F8_E5M2": np.dtype(ml_dtypes.float8_e5m2),
}


def save_arrays(path: PathLike, arrays: Mapping[str, Any], meta: Mapping[str, Any]) -> None:
    """Write named arrays, and JSON beside them, with a checksum over everything.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_arrays(f"{folder}/a", {"theta": np.ones(2)}, {"iteration": 3})
    ...     load_arrays(f"{folder}/a")
    ({'theta': array([1., 1.])}, {'iteration': 3})
    """
    plain = {name: _storable(name, array) for name, array in arrays.items()}
    stored = as_stored(dict(meta))
    header = {"format": 1, "meta": stored, "sha256": _digest(plain, stored)}
    write_atomic(path, safetensors.numpy.save(plain, {HEADER: to_json(header)}))


def load_arrays(path: PathLike) -> tuple[Arrays, dict[str, Any]]:
    """What `save_arrays` wrote, to the bit; `DamagedFileError` if anything in the file has changed."""
    data = read_bytes(path)
    try:
        size = int.from_bytes(data[:8], "little")
        header = json.loads(json.loads(data[8 : 8 + size])["__metadata__"][HEADER])
        tensors = safetensors.deserialize(data)  # type: ignore[no-untyped-call]
        arrays = {name: _array(spec) for name, spec in sorted(tensors)}
        good = header["sha256"] == _digest(arrays, header["meta"])
    except (safetensors.SafetensorError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise DamagedFileError(f"{path}: is damaged, or no file of fenchel's ({error})") from None
    if not good:
        raise DamagedFileError(f"{path}: is damaged (its checksum does not match)")
    return arrays, header["meta"]


def _storable(name: str, value: Any) -> NDArray[Any]:
    """`value` in C order and the machine's byte order: safetensors writes the buffer as it lies."""
    array = np.asarray(value, order="C")
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.dtype not in _DTYPES.values():
        remedy = "is no type of the file format; convert it first"
        raise InputError(f"arrays[{name!r}].dtype", str(array.dtype), remedy)
    if name == "__metadata__":
        raise InputError("arrays", name, "is a reserved name; choose another")
    return array


def _array(spec: Mapping[str, Any]) -> NDArray[Any]:
    """The array of a name, dtype, shape and bytes: safetensors' own reader knows no bfloat16."""
    return np.frombuffer(spec["data"], _DTYPES[spec["dtype"]]).reshape(spec["shape"])


def _digest(arrays: Arrays, meta: Any) -> str:
    digest = hashlib.sha256(to_json(meta).encode())
    for name, array in sorted(arrays.items()):
        digest.update(to_json([name, array.dtype.name, array.shape]).encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
