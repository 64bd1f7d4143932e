"""From what a user says to a fully resolved problem. All input is checked here, before anything compiles."""

from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp
import optax
from gymnasium.spaces import Discrete

from fenchel.ascent.algorithms import ALGORITHMS, NEWTON, PAPER, PATHWISE, StepSize
from fenchel.ascent.base import AbstractSolver
from fenchel.ascent.blocks import PLAIN
from fenchel.ascent.prox import L1, AbstractProx, Ball, Box, GroupL1, Simplex, SquaredL2
from fenchel.ascent.schedules import Constant, Cosine, Fading, RobbinsMonro, averaging
from fenchel.ascent.selection import (
    AbstractSelection,
    BestIterate,
    LastIterate,
    UniformIterate,
    WeightedIterate,
)
from fenchel.envs.base import AbstractEnvironment
from fenchel.envs.registry import make
from fenchel.errors import InputError, require, require_choice
from fenchel.estimators import Pathwise, ScoreFunction
from fenchel.objectives import OBJECTIVES, AbstractObjective, make_objective, objective_fields
from fenchel.policies.base import AbstractPolicy
from fenchel.policies.categorical import AbstractCategorical
from fenchel.policies.checks import check_policy
from fenchel.policies.defaults import default_policy
from fenchel.policies.gaussian import AbstractGaussian
from fenchel.policies.greedy import without_chance
from fenchel.policies.registry import make_policy
from fenchel.policies.tabular import DirectTabular, Tabular
from fenchel.settings import OBJECTIVE_FIELDS
from fenchel.training.keys import pilot_key, streams
from fenchel.training.pilot import STEP, PilotSteps, pilot_step_size
from fenchel.training.precision import require_all_held, require_held
from fenchel.training.problem import Problem
from fenchel.training.settings import Settings

ADAM_STEP = 0.01
"""Default policy step size with Adam, whose direction has unit scale."""

PATHWISE_STEP = 0.03
"""The same for `bca` with derivatives through the environment, which scatter little."""

TABLE_STEP = 0.2
"""The same for `bca` on a table, where a parameter is a logit and moves no other."""

ADAM = optax.adam(1.0)
"""A shared constant, so that equal solvers share one compiled program."""

TOO_FEW = "are fewer than one iteration samples"

MOST_ITERATIONS = 2**31 - 1
"""Iterations are counted in 32 bits."""

_STEPS = (
    "policy_step_size",
    "policy_step_factor",
    "dual_step_size",
    "schedule",
    "offset",
    "optimizer",
    "policy_prox",
)
_SOLVER_ONLY = (
    *(*_STEPS, "dual_min", "dual_max", "order", "fresh_batch", "variance_bound"),
    *("entropy", "phase_in"),
)

EnvironmentLike = str | AbstractEnvironment
AlgorithmLike = str | AbstractSolver
PolicyLike = str | AbstractPolicy | None
ObjectiveLike = str | AbstractObjective | None


def resolve(
    env: EnvironmentLike,
    algorithm: AlgorithmLike,
    policy: PolicyLike,
    objective: ObjectiveLike,
    settings: Settings,
    pilots: PilotSteps | None = None,
) -> Problem:
    """Make every choice that was left open, and check what was chosen.

    Arguments:
        env: environment, or its name.
        algorithm: solver, or the name of an algorithm.
        policy: policy, its name, or None for the one that suits the environment.
        objective: objective, its name, or None for the one the algorithm is made for.
        settings: everything else.
        pilots: step sizes already measured, kept for the next call.
    """
    known = PilotSteps() if pilots is None else pilots
    return draft(env, algorithm, policy, objective, settings).finish(known)


@dataclass(frozen=True)
class Draft:
    """A problem that was checked, with a stand-in where the policy's step size is still to be measured."""

    problem: Problem
    algorithm: AlgorithmLike
    policy: PolicyLike
    settings: Settings

    @property
    def needs_pilot(self) -> bool:
        """Whether a step size has to be measured, or looked up among those that were."""
        return isinstance(self.algorithm, str) and self.settings.policy_step_size is None

    def finish(self, pilots: PilotSteps) -> Problem:
        """The problem, with a measured step size where none was given."""
        if not self.needs_pilot:
            return self.problem
        step = _pilot(self, pilots)
        solved = replace(self.problem, solver=_solver(self.algorithm, self.settings, step))
        _require_drawable(solved, self.settings)
        return solved


def draft(
    env: EnvironmentLike,
    algorithm: AlgorithmLike,
    policy: PolicyLike,
    objective: ObjectiveLike,
    settings: Settings,
) -> Draft:
    """Make every choice but a step size to be measured, and check them all: no pilot is run yet."""
    if not isinstance(algorithm, str | AbstractSolver):
        raise InputError("algorithm", algorithm, "must be a solver or the name of an algorithm")
    world = resolve_environment(env, policy)
    settings = _filled(algorithm, settings, world)
    _require_precise(settings)
    require(settings.episodes >= settings.batch, "episodes", settings.episodes, TOO_FEW)
    actor = _policy(policy, world, settings)
    _require_geometry(algorithm, actor, settings)
    goal = _objective(objective, algorithm, settings)
    _require_mover(algorithm, goal, settings)
    estimator = _estimator(world, settings)
    selection = _selection(settings, world)
    solver = _solver(algorithm, settings, settings.policy_step_size)
    require_all_held(goal)
    require_all_held(solver)
    iterations = _iterations(settings, solver)
    dual = float(goal.best_dual(jnp.zeros(1))) if settings.dual is None else float(settings.dual)
    problem = Problem(actor, goal, solver, estimator, selection, dual, settings.seed, iterations)
    made = Draft(problem, algorithm, policy, settings)
    if not made.needs_pilot:
        _require_drawable(problem, settings)
    return made


def _filled(algorithm: AlgorithmLike, settings: Settings, env: AbstractEnvironment) -> Settings:
    """What was left open, as the algorithm has it; a solver object has its own schedules and entropy."""
    if not isinstance(algorithm, str):
        settings.require_default(_SOLVER_ONLY, "is a field of the solver object that was given")
        return settings.filled({**PAPER, "estimator": "score"})
    require_choice("algorithm", algorithm, ALGORITHMS)
    own = "pathwise" if algorithm == "bca" and env.differentiable else "score"
    settings = settings.filled({"estimator": own})
    newton = settings.optimizer == "newton" or (settings.optimizer is None and env.multilinear)
    if algorithm != "bca" or settings.estimator == "score":
        remedy = "is for bca with pathwise derivatives"
        require(settings.optimizer != "newton", "optimizer", settings.optimizer, remedy)
        return settings.filled(ALGORITHMS[algorithm].settings)
    return settings.filled(NEWTON if newton else PATHWISE)


def _estimator(env: AbstractEnvironment, settings: Settings) -> ScoreFunction | Pathwise:
    """Episodes are led only where actions can be listed: elsewhere the policy explores by itself."""
    if settings.estimator == "pathwise":
        for field in ("control_variate", "explore", "entropy"):
            value = getattr(settings, field)
            require(value in ("none", 0), field, value, "goes with estimator 'score'")
        return Pathwise(env, settings.batch, settings.optimizer == "newton")
    finite = isinstance(env.action_space, Discrete)
    led = int((settings.explore or 0) * settings.batch) if finite else 0
    return ScoreFunction(env, settings.batch, settings.control_variate or "none", led)


def _require_precise(settings: Settings) -> None:
    for name, value in vars(settings).items():
        if isinstance(value, float):
            require_held(name, value)


def _iterations(settings: Settings, solver: AbstractSolver) -> int:
    count = settings.episodes // (settings.batch * solver.batches)
    require(count > 0, "episodes", settings.episodes, TOO_FEW)
    remedy = f"make {count} iterations, and {MOST_ITERATIONS} are the most: lower it, or raise batch_size"
    require(count <= MOST_ITERATIONS, "episodes", settings.episodes, remedy)
    return count


def resolve_environment(env: EnvironmentLike, policy: PolicyLike = None) -> AbstractEnvironment:
    """An environment by name shows the index of its state to a policy with a row per state."""
    if isinstance(env, str):
        table = isinstance(policy, Tabular | DirectTabular) or policy in ("tabular", "direct")
        return make(env, observe="index" if table else "state")
    if not isinstance(env, AbstractEnvironment):
        raise InputError("env", env, "must be an environment or the name of one")
    return env


def _policy(policy: PolicyLike, env: AbstractEnvironment, settings: Settings) -> AbstractPolicy:
    """The policy; one by name has no chance in it where gradients do not need any."""
    key = streams(settings.seed).policy
    if policy is None or isinstance(policy, str):
        made = default_policy(env) if policy is None else make_policy(policy, env, key=key)
        return without_chance(made) if settings.estimator == "pathwise" else made
    if not isinstance(policy, AbstractPolicy):
        raise InputError("policy", policy, "must be a policy or the name of one")
    check_policy(policy, env)
    return policy


def _require_geometry(algorithm: AlgorithmLike, policy: AbstractPolicy, settings: Settings) -> None:
    """A table of probabilities has to stay one, and no other parameters can be one."""
    name, logits = type(policy).__name__, isinstance(policy, AbstractCategorical | AbstractGaussian)
    if algorithm == "sbmd" and logits:
        raise InputError("policy", name, "sbmd moves probabilities themselves: choose policy 'direct'")
    if settings.policy_prox == "simplex" and logits:
        raise InputError("policy_prox", "simplex", f"is for policy 'direct', and this one is {name}")
    astray = isinstance(algorithm, str) and algorithm != "sbmd" and settings.policy_prox != "simplex"
    if astray and isinstance(policy, DirectTabular):
        remedy = f"does not stay a table of probabilities under {algorithm}: choose 'sbmd', or 'tabular'"
        raise InputError("policy", name, f"{remedy}, or policy_prox 'simplex'")


def _require_mover(algorithm: AlgorithmLike, objective: AbstractObjective, settings: Settings) -> None:
    """Where nothing moves the dual, the user has to say which one is meant."""
    if algorithm == "pg" and objective.has_dual and settings.dual is None:
        remedy = "has a dual, which pg leaves where it is: say where by dual, or choose mvp"
        raise InputError("objective", type(objective).__name__, remedy)


def _require_drawable(problem: Problem, settings: Settings) -> None:
    """BSG's draw needs an iterate of positive weight."""
    selection, solver = problem.selection, problem.solver
    if isinstance(selection, WeightedIterate):
        ends = (selection.weight(solver.step_sizes(jnp.asarray(t))) for t in (0, problem.iterations - 1))
        remedy = "leaves no iterate a positive weight β_min − (L/2) β_max² of its step sizes: lower it, or "
        remedy += "choose dual_step_size and policy_step_size nearer to each other"
        require(max(map(float, ends)) > 0, "smoothness", settings.smoothness, remedy)


def _objective(objective: ObjectiveLike, algorithm: AlgorithmLike, settings: Settings) -> AbstractObjective:
    if isinstance(objective, AbstractObjective):
        settings.require_default(OBJECTIVE_FIELDS, "is a field of the objective object that was given")
        return objective
    if objective is None:
        if not isinstance(algorithm, str):
            raise InputError("objective", None, "must be given together with a solver object")
        require_choice("algorithm", algorithm, ALGORITHMS)
        objective = ALGORITHMS[algorithm].objective
    require_choice("objective", objective, OBJECTIVES)
    own = objective_fields(OBJECTIVES[objective])
    idle = tuple(name for name in OBJECTIVE_FIELDS if name not in own)
    settings.require_default(idle, f"has no effect on the objective {objective}")
    return make_objective(objective, **{name: getattr(settings, name) for name in own})


def _solver(algorithm: AlgorithmLike, settings: Settings, step: float | None) -> AbstractSolver:
    """The solver; `STEP` stands in for a step size of the policy that is not known yet."""
    if not isinstance(algorithm, str):
        return algorithm
    build, options = ALGORITHMS[algorithm].build, _options(algorithm, settings)
    iterations = _iterations(settings, build(**options))
    if settings.entropy:
        options["entropy"] = Fading(settings.entropy, iterations)
    if settings.phase_in:
        options["phase_in"] = settings.phase_in * iterations
    if settings.dual_step_size is not None:
        options["dual_step_size"] = _schedule(settings.dual_step_size, settings, iterations)
    scaled = settings.policy_step_factor * (STEP if step is None else step)
    return build(_schedule(scaled, settings, iterations), **options)


def _options(algorithm: str, settings: Settings) -> dict[str, Any]:
    """Arguments of the algorithm, step sizes aside; a setting that it does not have is refused."""
    why = f"is no setting of {algorithm}"
    if algorithm == "tamar":
        block = ("optimizer", "policy_prox", "dual_min", "dual_max", "order", "fresh_batch")
        settings.require_default(block, why)
        return {"risk_aversion": settings.risk_aversion, "variance_bound": settings.variance_bound}
    settings.require_default(("variance_bound",), f"{why}; tamar has it")
    options: dict[str, Any] = {"policy_prox": _prox(settings)}
    if settings.optimizer is not None:
        options["policy_optimizer"] = ADAM if settings.optimizer == "adam" else PLAIN  # Newton's is whole
    if algorithm == "bca":
        idle = ("dual_step_size", "order", "fresh_batch")
        settings.require_default(idle, f"{why}: the dual is the best one of the batch")
        return {**options, "dual_prox": _dual_box(settings)}
    for field in ("entropy", "phase_in"):
        require(not getattr(settings, field), field, getattr(settings, field), f"{why}; bca has it")
    if algorithm == "pg":
        settings.require_default(("dual_step_size", "dual_min", "dual_max", "order", "fresh_batch"), why)
        return options
    if algorithm == "bsg":
        options["order"] = settings.order or "cyclic"
    else:
        settings.require_default(("order",), f"{why}; bsg has it")
    if algorithm in ("rcpg", "sbmd"):
        settings.require_default(("fresh_batch",), f"{why}: only one block moves")
    else:
        options["fresh_batch"] = settings.fresh_batch
    return {**options, "dual_prox": _dual_box(settings)}


def _schedule(value: float, settings: Settings, iterations: int) -> StepSize:
    if settings.schedule == "constant":
        settings.require_default(("offset", "exponent"), "belongs to schedule 'robbins-monro'")
        return Constant(value)
    if settings.schedule == "cosine":
        settings.require_default(("offset", "exponent"), "belongs to schedule 'robbins-monro'")
        return Cosine(value, iterations)
    if settings.schedule == "averaging":
        settings.require_default(("offset", "exponent"), "belongs to schedule 'robbins-monro'")
        return averaging(value)
    offset = settings.offset or max(1.0, iterations / 10)
    return RobbinsMonro(value, offset, settings.exponent)


def _prox(settings: Settings) -> AbstractProx | None:
    kinds: dict[str, type[AbstractProx]] = {"l1": L1, "group-l1": GroupL1, "squared-l2": SquaredL2}
    if settings.policy_prox is None:
        settings.require_default(("prox_strength",), "belongs to policy_prox, which is not set")
        return None
    if settings.policy_prox == "simplex":
        return Simplex()
    if settings.policy_prox == "ball":
        return Ball(settings.prox_strength)
    return kinds[settings.policy_prox](settings.prox_strength)


def _dual_box(settings: Settings) -> AbstractProx | None:
    if settings.dual_min is None and settings.dual_max is None:
        return None
    low = float("-inf") if settings.dual_min is None else settings.dual_min
    return Box(low, float("inf") if settings.dual_max is None else settings.dual_max)


def _selection(settings: Settings, env: AbstractEnvironment) -> AbstractSelection:
    if settings.output != "best":
        settings.require_default(("validation_every", "validation_episodes"), "belongs to output 'best'")
    if settings.output != "weighted":
        settings.require_default(("smoothness",), "belongs to output 'weighted'")
    if settings.output == "best":
        return BestIterate(ScoreFunction(env, settings.validation_episodes), settings.validation_every)
    if settings.output == "weighted":
        return WeightedIterate(settings.smoothness)
    return UniformIterate() if settings.output == "uniform" else LastIterate()


def _pilot(draft: Draft, known: PilotSteps) -> float:
    """The pilot's step size; it does not depend on the seed, so that seeds stay comparable."""
    problem, settings = draft.problem, draft.settings
    if settings.optimizer == "newton":
        return 1.0
    if draft.algorithm == "bca" and settings.estimator == "pathwise":
        return PATHWISE_STEP
    if draft.algorithm == "bca":
        return TABLE_STEP if isinstance(problem.policy, Tabular) else ADAM_STEP
    if settings.optimizer == "adam":
        return ADAM_STEP
    objective, estimator = problem.objective, problem.estimator
    numbers = {field: getattr(objective, field) for field in objective_fields(type(objective))}
    name = ", ".join(f"{field} {value}" for field, value in numbers.items())
    name = f"{name}, batch_size {settings.batch_size}"

    def measure() -> float:
        named = isinstance(draft.policy, str)
        policy = _policy(draft.policy, estimator.env, replace(settings, seed=0)) if named else problem.policy
        return pilot_step_size(pilot_key(), policy, objective, estimator)

    return known.get(name, measure)
