"""`fenchel train`: learn a policy, and say what it is worth."""

import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fenchel.cli.cache import keep_compiled
from fenchel.cli.environment import build, parameters_of
from fenchel.cli.figure import require_figure, save
from fenchel.cli.flags import Command, missing, read_file, read_words, show_help, wants_help
from fenchel.cli.options import POSITIONAL, Option, options_of, pick
from fenchel.cli.output import DONE, EXIT_CODES, say, table, write_json, write_tables
from fenchel.errors import FenchelError, require, require_count, require_positive
from fenchel.settings import Settings

if TYPE_CHECKING:
    from fenchel.envs import AbstractEnvironment
    from fenchel.policies import AbstractPolicy
    from fenchel.training import TrainResult


@dataclass(frozen=True)
class TrainOptions:
    """What may be said about a run besides its settings."""

    environment: str = field(default="", metadata={POSITIONAL: True})
    """the environment, a name that `fenchel list` shows, FILE.py:CLASS, or gym: and an id of Gymnasium's,
    here or in the file of --config; its parameters are set by --env.NAME VALUE"""
    algorithm: str | None = None
    """How to learn: mvp, sga, rcpg, sbmd, bsg, pg, tamar or bca; by default mvp, for gym: bca."""
    objective: str | None = None
    """What to learn for; by default what the algorithm is made for."""
    policy: str | None = None
    """tabular, direct, linear or mlp; by default mlp with --hidden, else what suits the environment."""
    preset: str | None = None
    """The citation whose numbers the environment takes."""
    observe: str | None = None
    """What the policy sees: state, return or index; by default index for tabular or direct, else state."""
    features: str | None = None
    """Of a linear or mlp policy: raw, scaled, rbf, onehot or tamar2014."""
    epsilon: float | None = None
    """Of a policy over finitely many actions: the least probability of an action."""
    hidden: tuple[int, ...] | None = None
    """Of an mlp policy: widths of its hidden layers; 32 32 by default."""
    rbf_grid: tuple[int, ...] | None = None
    """Of rbf features: number of centres per dimension."""
    out: Path | None = None
    """Directory for configuration, metrics, checkpoints and result."""
    resume: bool = False
    """Go on with the run in --out."""
    checkpoint_seconds: float = 60.0
    """Time between two checkpoints."""
    evaluate_episodes: int | None = None
    """Fresh episodes that mean, std and value are estimated from; 100,000 by default, for gym: 1,000."""
    figure: Path | None = None
    """Draw learning and the returns of the learned policy to this .png, .svg or .pdf file."""
    config: Path | None = None
    """TOML file with the names of these options, and a table [env]; what is given here wins over it."""
    json: bool = False
    """Print one JSON object instead of a table."""
    quiet: bool = False
    """Show no progress."""

    def __post_init__(self) -> None:
        require_positive("checkpoint_seconds", self.checkpoint_seconds)
        if self.evaluate_episodes is not None:
            require_count("evaluate_episodes", self.evaluate_episodes, least=2)
        require(
            not self.resume or self.out is not None, "resume", self.resume, "needs the directory: give --out"
        )
        if self.figure is not None:
            require_figure(self.figure)


COMMAND = Command(
    "train",
    "Learn a policy for an environment, and evaluate it on fresh episodes.",
    [*options_of(TrainOptions), *options_of(Settings)],
    has_parameters=True,
)


def run(words: Sequence[str]) -> int:
    """Do what the words of the command line ask for."""
    if wants_help(words):
        show_help(COMMAND, _known_parameters([word for word in words if not wants_help([word])]))
        return DONE
    options, settings, parameters = read_request(words)
    keep_compiled()
    env = make_environment(options, parameters)
    policy = choose_policy(options, env, settings.seed)
    try:
        result = _train(env, policy, options, settings)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"interrupted; {_how_to_resume(options.out, words)}") from None
    if result.status == "interrupted":
        say(f"interrupted after {result.episodes:,} episodes; {_how_to_resume(options.out, words)}")
    record = _record(result, options, settings)
    if options.json:
        write_json(record)
    else:
        write_tables([table(f"{record['environment']}, {record['algorithm']}", _rows(record))])
    if options.figure is not None and math.isfinite(record["std"]):
        from fenchel.report import plot_training

        save(plot_training(result, title=_title(record)), options.figure)
    elif options.figure is not None:
        say("no figure: returns of the policy are not finite")
    return EXIT_CODES.get(result.status, DONE)


def read_request(words: Sequence[str]) -> tuple[TrainOptions, Settings, dict[str, Any]]:
    """Options, settings and the text of the environment's parameters; flags win over the file."""
    values, parameters = read_words(COMMAND, words)
    if values.get("config") is not None:
        from_file = read_file(COMMAND, values["config"])
        values, parameters = from_file.values | values, from_file.parameters | parameters
    if not values.get("environment"):
        raise missing(COMMAND.options[0])
    return TrainOptions(**pick(TrainOptions, values)), Settings(**pick(Settings, values)), parameters


def _known_parameters(words: Sequence[str]) -> list[Option]:
    """Parameters of the environment, if the words name one."""
    try:
        options, _, _ = read_request(words)
    except FenchelError:
        return []
    return parameters_of(options.environment)


def make_environment(options: TrainOptions, given: dict[str, Any]) -> "AbstractEnvironment":
    """The environment, which shows its index to a policy with a row per state unless told otherwise."""
    table = options.policy in ("tabular", "direct")
    observe = options.observe or ("index" if table else "state")
    remedy = f"a {options.policy} policy sees the index of a finite state; leave --observe out"
    require(not table or observe not in ("state", "return"), "observe", observe, remedy)
    return build(options.environment, options.preset, observe, given)


def choose_policy(
    options: TrainOptions, env: "AbstractEnvironment", seed: int
) -> "AbstractPolicy | str | None":
    """The policy, made here if more is said about it than its name."""
    from fenchel.policies import make_policy
    from fenchel.training.keys import streams
    from fenchel.training.resolve import first_policy

    said = {name: getattr(options, name) for name in ("features", "epsilon", "hidden", "rbf_grid")}
    said = {name: value for name, value in said.items() if value is not None}
    if not said:
        return options.policy
    if options.policy is None and said.keys() == {"epsilon"}:
        return _with_epsilon(first_policy(None, env, Settings(seed=seed)), options.epsilon)
    name = options.policy or ("mlp" if "hidden" in said else "linear")
    require("hidden" not in said or name == "mlp", "hidden", options.hidden, "belongs to --policy mlp")
    return make_policy(name, env, key=streams(seed).policy, **said)


def _with_epsilon(policy: "AbstractPolicy", epsilon: float | None) -> "AbstractPolicy":
    remedy = "is for finitely many actions; leave it out"
    require(hasattr(policy, "epsilon"), "epsilon", epsilon, remedy)
    changes: dict[str, Any] = {"epsilon": epsilon}
    return replace(policy, **changes)


def _train(
    env: "AbstractEnvironment",
    policy: "AbstractPolicy | str | None",
    options: TrainOptions,
    settings: Settings,
) -> "TrainResult":
    """The result, also of a run that was interrupted."""
    from fenchel.training import Interrupted, TrainResult, train
    from fenchel.training.progress import ProgressBar

    bar = ProgressBar()
    try:
        return train(
            env,
            options.algorithm,
            policy=policy,
            objective=options.objective,
            settings=settings,
            out=options.out,
            resume=options.resume,
            callbacks=[] if options.quiet else [bar],
            checkpoint_seconds=options.checkpoint_seconds,
        )
    except Interrupted as stop:
        assert isinstance(stop.result, TrainResult)
        return stop.result
    finally:
        bar.close()


def _record(result: "TrainResult", options: TrainOptions, settings: Settings) -> dict[str, Any]:
    from fenchel.cli.describe import describe_result

    evaluation, described = result.evaluate(options.evaluate_episodes), describe_result(result)
    return {
        **described,
        "environment": options.environment,
        "algorithm": options.algorithm or described["algorithm"],
        "seed": settings.seed,
        "mean": evaluation.mean,
        "std": evaluation.std,
        "standard_error": evaluation.standard_error,
        "value": evaluation.value,
        "best_dual": evaluation.dual,
        "evaluation_episodes": evaluation.episodes,
        "episodes": result.episodes,
        "seconds": result.seconds,
        "compile_seconds": result.compile_seconds,
        "figure": None if options.figure is None else str(options.figure),
    }


ROWS = (
    *(
        "environment",
        "algorithm",
        "objective",
        "risk_aversion",
        "mean",
        "standard_error",
        "std",
        "value",
        "dual",
    ),
    *("episodes", "seed", "seconds", "compile_seconds", "status", "fault", "out", "figure"),
)


def _rows(record: dict[str, Any]) -> list[tuple[str, Any]]:
    saved = {**record, "out": record["out"] or "not saved; --out DIR saves a run"}
    return [(name.replace("_", " "), saved[name]) for name in ROWS if saved[name] is not None]


def _title(record: dict[str, Any]) -> str:
    aversion = record["risk_aversion"]
    weight = "" if aversion is None else f", λ = {aversion:g}"
    return f"{record['environment']}, {record['algorithm']}{weight}"


def _how_to_resume(out: Path | None, words: Sequence[str]) -> str:
    if out is None:
        return "nothing was saved, as --out was not given"
    if not (out / "config.json").exists():
        return "nothing was saved yet"
    again = words if "--resume" in words else [*words, "--resume"]
    return f"saved in {out}; to go on: {shlex.join(['fenchel', 'train', *again])}"
