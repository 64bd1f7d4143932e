"""From what a user says to a fully resolved problem. All input is checked here, before anything compiles."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import gymnasium
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
from fenchel.envs.gym import GymnasiumEnvironment
from fenchel.envs.registry import is_gymnasium, make
from fenchel.errors import InputError, require, require_choice
from fenchel.estimators import Pathwise, ScoreFunction, Storm
from fenchel.objectives import OBJECTIVES, AbstractObjective, Surrogate, make_objective, objective_fields
from fenchel.objectives.custom import takes
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

HOSTED_EPISODES = 10_000
"""Episodes of a run on the host where nothing is said: Gymnasium's environments are not compiled."""

EPISODES = 1_000_000
"""The same of compiled ones."""

HOSTED: dict[str, Any] = {"batch_size": 64, "explore": 0.0, "phase_in": 0.25}
"""What `bca` brings on the host, where an episode costs a thousand times as much: fewer steps, so that risk
aversion has to come while they are still long."""

MOST_FITTED = 256
"""Numbers observed up to which the critic is a regression on all of them and their squares."""

EnvironmentLike = str | AbstractEnvironment | gymnasium.Env[Any, Any] | Callable[[], gymnasium.Env[Any, Any]]
AlgorithmLike = str | AbstractSolver | None
PolicyLike = str | AbstractPolicy | None
ObjectiveLike = str | AbstractObjective | Callable[..., Any] | None


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
    algorithm: str | AbstractSolver
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
        solver = _solver(self.algorithm, self.problem.objective, self.settings, step)
        solved = replace(self.problem, solver=solver)
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
    world = resolve_environment(env, policy)
    if algorithm is None:
        algorithm = "bca" if isinstance(world, GymnasiumEnvironment) else "mvp"
    if not isinstance(algorithm, str | AbstractSolver):
        raise InputError("algorithm", algorithm, "must be a solver or the name of an algorithm")
    settings = _filled(algorithm, settings, world)
    _require_precise(settings)
    require(settings.count >= settings.batch, "episodes", settings.count, TOO_FEW)
    actor = first_policy(policy, world, settings)
    _require_geometry(algorithm, actor, settings)
    goal = _objective(objective, algorithm, settings)
    _require_mover(algorithm, goal, settings)
    estimator = _estimator(world, settings)
    selection = _selection(settings, world)
    solver = _solver(algorithm, goal, settings, settings.policy_step_size)
    require_all_held(goal)
    require_all_held(solver)
    iterations = _iterations(settings, solver)
    _require_multiplier(solver, goal, settings)
    dual = _first_dual(goal) if settings.dual is None else float(settings.dual)
    problem = Problem(actor, goal, solver, estimator, selection, dual, settings.seed, iterations)
    made = Draft(problem, algorithm, policy, settings)
    if isinstance(world, GymnasiumEnvironment):
        _require_hosted(made, world)
    if not made.needs_pilot:
        _require_drawable(problem, settings)
    return made


def _filled(algorithm: str | AbstractSolver, settings: Settings, env: AbstractEnvironment) -> Settings:
    """What was left open, as the algorithm has it; a solver object has its own schedules and entropy."""
    hosted = isinstance(env, GymnasiumEnvironment)
    settings = settings.filled({"episodes": HOSTED_EPISODES if hosted else EPISODES})
    if hosted and algorithm == "bca":
        fitted = prod(env.observation_space.shape or ()) <= MOST_FITTED
        settings = settings.filled(HOSTED | {"control_variate": "critic" if fitted else "step"})
    if not isinstance(algorithm, str):
        settings.require_default(_SOLVER_ONLY, "is a field of the solver object that was given")
        return settings.filled({**PAPER, "estimator": "score"})
    require_choice("algorithm", algorithm, ALGORITHMS)
    own = "pathwise" if algorithm == "bca" and env.differentiable else "score"
    settings = settings.filled({"estimator": own})
    newton = settings.optimizer == "newton" or (settings.optimizer is None and env.multilinear)
    if algorithm == "bca" and settings.estimator == "pathwise":
        return settings.filled(NEWTON if newton else PATHWISE)
    remedy = "is for bca with pathwise derivatives"
    require(settings.optimizer != "newton", "optimizer", settings.optimizer, remedy)
    if settings.estimator == "storm":
        remedy = "is no part of a direction that is remembered: leave it out with estimator 'storm'"
        require(not settings.entropy, "entropy", settings.entropy, remedy)
        remedy = "needs a solver that remembers, which tamar does not"
        require(algorithm != "tamar", "estimator", "storm", remedy)
        settings = settings.filled({"entropy": 0.0})
    return settings.filled(ALGORITHMS[algorithm].settings)


def _require_hosted(draft: "Draft", env: GymnasiumEnvironment) -> None:
    """Raise where something needs more episodes, or other ones, than the host plays for a step."""
    problem, settings = draft.problem, draft.settings
    why = "needs an environment of fenchel's own, which is compiled; this one is Gymnasium's: "
    require(settings.estimator != "pathwise", "estimator", "pathwise", f"{why}leave it out")
    require(settings.explore == 0, "explore", settings.explore, f"{why}set it to 0")
    once = problem.solver.batches == 1
    require(once, "fresh_batch", True, f"{why}leave it out, and one batch serves all blocks")
    require(settings.output != "best", "output", settings.output, f"{why}choose last, uniform or weighted")
    remedy = "an earlier iterate saw observations at another scale: set normalise_observations to False"
    require(settings.output == "last" or not env.normalises, "output", settings.output, remedy)
    bca = isinstance(draft.algorithm, str) and draft.algorithm == "bca"
    adam = bca or settings.optimizer == "adam"
    remedy = f"measuring it {why}give one, or choose algorithm bca or optimizer adam"
    require(adam or not draft.needs_pilot, "policy_step_size", None, remedy)


def _estimator(env: AbstractEnvironment, settings: Settings) -> ScoreFunction | Pathwise | Storm:
    """Episodes are led only where actions can be listed: elsewhere the policy explores by itself."""
    if settings.estimator == "pathwise":
        for field in ("control_variate", "explore", "entropy"):
            value = getattr(settings, field)
            require(value in ("none", 0), field, value, "goes with estimator 'score'")
        return Pathwise(env, settings.batch, settings.optimizer == "newton")
    finite = isinstance(env.action_space, Discrete)
    led = int((settings.explore or 0) * settings.batch) if finite else 0
    score = ScoreFunction(env, settings.batch, settings.control_variate or "none", led)
    if settings.estimator == "storm":
        return Storm(score, settings.momentum)
    settings.require_default(("momentum",), "belongs to estimator 'storm'")
    return score


def _require_precise(settings: Settings) -> None:
    for name, value in vars(settings).items():
        if isinstance(value, float):
            require_held(name, value)


def _iterations(settings: Settings, solver: AbstractSolver) -> int:
    count = settings.count // (settings.batch * solver.batches)
    require(count > 0, "episodes", settings.count, TOO_FEW)
    remedy = f"make {count} iterations, and {MOST_ITERATIONS} are the most: lower it, or raise batch_size"
    require(count <= MOST_ITERATIONS, "episodes", settings.count, remedy)
    return count


def resolve_environment(env: EnvironmentLike, policy: PolicyLike = None) -> AbstractEnvironment:
    """An environment by name shows the index of its state to a policy with a row per state."""
    if is_gymnasium(env):
        source: Any = env
        return GymnasiumEnvironment(source)
    if isinstance(env, str):
        table = isinstance(policy, Tabular | DirectTabular) or policy in ("tabular", "direct")
        return make(env, observe="index" if table else "state")
    if not isinstance(env, AbstractEnvironment):
        raise InputError("env", env, "must be an environment or the name of one")
    return env


def first_policy(policy: PolicyLike, env: AbstractEnvironment, settings: Settings) -> AbstractPolicy:
    """The policy before anything is learned: by default what suits the environment.

    One by name has no chance in it where gradients do not need any.
    """
    if policy is None or isinstance(policy, str):
        numbers = isinstance(env, GymnasiumEnvironment) and not _tabled(env)
        name = "mlp" if policy is None and numbers else policy
        key = streams(settings.seed).policy
        made = default_policy(env) if name is None else make_policy(name, env, key=key)
        return without_chance(made) if settings.estimator == "pathwise" else made
    if not isinstance(policy, AbstractPolicy):
        raise InputError("policy", policy, "must be a policy or the name of one")
    check_policy(policy, env)
    return policy


def _tabled(env: AbstractEnvironment) -> bool:
    return isinstance(env.observation_space, Discrete) and isinstance(env.action_space, Discrete)


def _require_geometry(algorithm: str | AbstractSolver, policy: AbstractPolicy, settings: Settings) -> None:
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


def _require_mover(algorithm: str | AbstractSolver, objective: AbstractObjective, settings: Settings) -> None:
    """Where nothing moves the dual, the user has to say which one is meant."""
    if algorithm == "pg" and objective.has_dual and settings.dual is None:
        remedy = "has a dual, which pg leaves where it is: say where by dual, or choose mvp"
        raise InputError("objective", type(objective).__name__, remedy)


def _first_dual(objective: AbstractObjective) -> float:
    """The best one for a return of zero."""
    return float(objective.best_dual(jnp.zeros((1, 2) if objective.per_step else 1)))


def _require_multiplier(solver: AbstractSolver, objective: AbstractObjective, settings: Settings) -> None:
    """A constraint needs a block that moves its multiplier."""
    name = type(objective).__name__
    blocks = [block.where for block in getattr(solver, "blocks", ())]
    if objective.has_multiplier and ("multiplier",) not in blocks:
        remedy = "has a constraint, whose multiplier must be moved by a block: choose bca or mvp"
        raise InputError("objective", name, remedy)
    if not objective.has_multiplier:
        remedy = f"has no effect on {name}, which has no constraint"
        settings.require_default(("multiplier_step_size",), remedy)


def _require_drawable(problem: Problem, settings: Settings) -> None:
    """BSG's draw needs an iterate of positive weight."""
    selection, solver = problem.selection, problem.solver
    if isinstance(selection, WeightedIterate):
        ends = (selection.weight(solver.step_sizes(jnp.asarray(t))) for t in (0, problem.iterations - 1))
        remedy = "leaves no iterate a positive weight β_min − (L/2) β_max² of its step sizes: lower it, or "
        remedy += "choose dual_step_size and policy_step_size nearer to each other"
        require(max(map(float, ends)) > 0, "smoothness", settings.smoothness, remedy)


def _objective(
    objective: ObjectiveLike, algorithm: str | AbstractSolver, settings: Settings
) -> AbstractObjective:
    fields = tuple(name for name in OBJECTIVE_FIELDS if (algorithm, name) != ("tamar", "variance_bound"))
    if callable(objective) and not isinstance(objective, AbstractObjective):
        settings.require_default(tuple(set(fields) - {"risk_aversion"}), "has no effect on a function")
        return _of_function(objective, settings)
    if isinstance(objective, AbstractObjective):
        settings.require_default(fields, "is a field of the objective object that was given")
        return objective
    if objective is None:
        if not isinstance(algorithm, str):
            raise InputError("objective", None, "must be given together with a solver object")
        require_choice("algorithm", algorithm, ALGORITHMS)
        objective = ALGORITHMS[algorithm].objective
    require_choice("objective", objective, OBJECTIVES)
    own = objective_fields(OBJECTIVES[objective])
    idle = tuple(name for name in fields if name not in own)
    settings.require_default(idle, f"has no effect on the objective {objective}")
    return make_objective(objective, **{name: getattr(settings, name) for name in own})


def _of_function(function: Callable[..., Any], settings: Settings) -> AbstractObjective:
    """ψ(R, y, λ) at the risk aversion that is set, or ψ(R, y)."""
    if takes(function, 3):
        return Surrogate(function, settings.risk_aversion)
    settings.require_default(("risk_aversion",), "has no effect on a function of return and dual alone")
    return Surrogate(function)


def _solver(
    algorithm: str | AbstractSolver, objective: AbstractObjective, settings: Settings, step: float | None
) -> AbstractSolver:
    """The solver; `STEP` stands in for a step size of the policy that is not known yet."""
    if not isinstance(algorithm, str):
        return algorithm
    build, options = ALGORITHMS[algorithm].build, _options(algorithm, settings)
    iterations = _iterations(settings, build(**options))
    if settings.entropy:
        options["entropy"] = Fading(settings.entropy, iterations)
    if objective.has_multiplier and algorithm not in ("pg", "tamar"):
        options["multiplier_step_size"] = settings.multiplier_step_size
    elif settings.phase_in:  # a multiplier begins at zero, and so is phased in by itself
        options["phase_in"] = settings.phase_in * iterations
        if algorithm == "bca" and settings.dual is not None:
            options["hold"] = options["phase_in"]
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
        chosen = draft.policy if named else problem.policy
        policy = first_policy(chosen, estimator.env, replace(settings, seed=0))
        return pilot_step_size(pilot_key(), policy, objective, estimator)

    return known.get(name, measure)
