"""A run in the words of the command line."""

from typing import Any

from fenchel.ascent import ALGORITHMS
from fenchel.envs import ENVIRONMENTS, AbstractEnvironment, GymnasiumEnvironment
from fenchel.envs.gym_sources import PREFIX
from fenchel.objectives import OBJECTIVES
from fenchel.training import TrainResult
from fenchel.training.config import describe


def describe_result(result: TrainResult) -> dict[str, Any]:
    """What a run was and how it ended, by the keys that every command prints."""
    aversion = getattr(result.objective, "risk_aversion", None)
    return {
        "environment": environment_name(result.env),
        "algorithm": algorithm_name(result.provenance["config"]["solver"]),
        "objective": name_in(OBJECTIVES, type(result.objective)),
        "risk_aversion": None if aversion is None else float(aversion),
        "dual": result.dual,
        "status": result.status,
        "fault": result.fault,
        "out": None if result.directory is None else str(result.directory),
        "fingerprint": result.provenance["fingerprint"],
    }


def name_in(registry: dict[str, Any], cls: type) -> str:
    """The name under which a class is listed, or its own."""
    return next((name for name, listed in registry.items() if listed is cls), cls.__name__)


def environment_name(env: AbstractEnvironment) -> str:
    """The name of an environment, whatever a policy is shown of it."""
    while (inner := getattr(env, "env", None)) is not None:
        env = inner
    if isinstance(env, GymnasiumEnvironment):
        return f"{PREFIX}{env.name}"
    return name_in(ENVIRONMENTS, type(env))


def algorithm_name(solver: Any) -> str:
    """The first algorithm with the order, the blocks and the mirrors of a solver's configuration."""
    wanted = _shape(solver)
    shapes = {name: _shape(describe(recipe.build())) for name, recipe in ALGORITHMS.items()}
    return next((name for name, shape in shapes.items() if shape == wanted), str(solver.get("type")))


def _shape(solver: Any) -> Any:
    blocks = [
        (list(block["where"]), block["mirror"]["type"], block.get("exact", False))
        for block in solver.get("blocks", ())
        if list(block["where"]) != ["multiplier"]  # which comes with the objective
    ]
    return solver.get("type"), solver.get("order"), blocks
