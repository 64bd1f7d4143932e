"""What can be named in a file: fenchel's own classes, Equinox layers, activation functions. Nothing else."""

import importlib
import inspect
import sys
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

ROOMS = ("ascent", "envs", "estimators", "objectives", "policies")

_NN = (
    *(
        "celu",
        "elu",
        "gelu",
        "hard_sigmoid",
        "hard_silu",
        "hard_tanh",
        "identity",
        "leaky_relu",
        "log_sigmoid",
    ),
    *("log_softmax", "mish", "relu", "relu6", "selu", "sigmoid", "silu", "soft_sign", "softmax", "softplus"),
    *("sparse_plus", "sparse_sigmoid", "squareplus"),
)
ACTIVATIONS: dict[str, Any] = {
    **{f"jax.nn.{name}": getattr(jax.nn, name) for name in _NN},
    **{f"jax.numpy.{name}": getattr(jnp, name) for name in ("abs", "arctan", "cos", "exp", "sin", "tanh")},
    "equinox.nn.identity": inspect.signature(eqx.nn.MLP).parameters["final_activation"].default,
}
"""Functions by the name they have in a file; the last is the one that `eqx.nn.MLP` ends with by default."""


def qualified(obj: Any) -> str:
    """A name that does not change with private modules: `policies.LinearSoftmax`, `equinox.nn.MLP`.

    >>> from fenchel.objectives import MeanVariance
    >>> qualified(MeanVariance), qualified(eqx.nn.MLP)
    ('objectives.MeanVariance', 'equinox.nn.MLP')
    """
    module = str(getattr(obj, "__module__", None) or "builtins").split(".")
    name = str(getattr(obj, "__qualname__", type(obj).__qualname__))
    if module[0] == "fenchel" and len(module) > 1 and isinstance(obj, type):
        return f"{module[1]}.{name}"
    return ".".join([*(part for part in module if part == "__main__" or not part.startswith("_")), name])


def classes() -> dict[str, type]:
    """The classes that a file may name, by their qualified name.

    >>> {"objectives.MeanVariance", "policies.LinearSoftmax", "equinox.nn.Linear"} <= classes().keys()
    True
    """
    for room in ROOMS:
        importlib.import_module(f"fenchel.{room}")
    homes = [module for name, module in sys.modules.items() if name.split(".")[:2] in _HOMES]
    own = [cls for home in homes for cls in vars(home).values() if _is_own(cls)]
    layers = [cls for cls in vars(eqx.nn).values() if inspect.isclass(cls) and issubclass(cls, eqx.Module)]
    return {qualified(cls): cls for cls in (*own, *layers)}


_HOMES = [["fenchel", room] for room in ROOMS]


def _is_own(cls: Any) -> bool:
    if not inspect.isclass(cls) or cls.__module__.split(".")[:2] not in _HOMES:
        return False
    return issubclass(cls, eqx.Module | tuple) and not inspect.isabstract(cls)
