"""What a user may set about a run, in one place: Python, command line and configuration files share it."""

from dataclasses import dataclass, fields, replace
from typing import Any, Self

from fenchel.errors import (
    InputError,
    require,
    require_choice,
    require_count,
    require_nonnegative,
    require_number,
    require_positive,
    require_switch,
)

SCHEDULE_NAMES = ("constant", "robbins-monro", "cosine", "averaging")
OPTIMIZER_NAMES = ("sgd", "adam", "newton")
PROX_NAMES = ("l1", "group-l1", "squared-l2", "ball", "simplex")
OUTPUT_NAMES = ("last", "uniform", "weighted", "best")
CONTROL_VARIATE_NAMES = ("none", "batch", "step", "value", "critic")
ESTIMATOR_NAMES = ("score", "pathwise", "storm")
ORDER_NAMES = ("cyclic", "simultaneous", "random", "shuffled")

CHOICES = {
    "estimator": ESTIMATOR_NAMES,
    "schedule": SCHEDULE_NAMES,
    "optimizer": OPTIMIZER_NAMES,
    "control_variate": CONTROL_VARIATE_NAMES,
    "policy_prox": PROX_NAMES,
    "order": ORDER_NAMES,
}
"""Settings that are a name, or None for the algorithm's own."""

OBJECTIVE_FIELDS = ("risk_aversion", "level", "variance_bound", "benchmark")
"""Settings that belong to the objective."""


@dataclass(frozen=True)
class Settings:
    """Numbers and choices of a training run."""

    risk_aversion: float = 1.0
    """λ, the weight of the variance, or β of entropic risk; above 0."""
    level: float = 0.05
    """For cvar: the share of worst returns whose mean counts."""
    variance_bound: float | None = None
    """For objective variance-bound: the greatest variance; for tamar: penalise only what exceeds it."""
    benchmark: float = 0.0
    """For sharpe: the return that can be had without risk."""
    episodes: int | None = None
    """How many episodes to learn from; 1,000,000 by default, of Gymnasium's environments 10,000."""
    batch_size: int | None = None
    """Episodes per update and batch, m; 1 by default, for bca 1024, or 64 of Gymnasium's environments."""
    control_variate: str | None = None
    """Baseline of the score function: none (default), batch (leave-one-out mean), step (per-time-step mean),
    value (of state and reward so far, from the batch) or critic (from all batches; the default of bca)."""
    estimator: str | None = None
    """How the policy's direction is estimated: score (likelihood ratio, for any environment), pathwise
    (derivatives through it; the default of bca where it has them) or storm (score, variance-reduced)."""
    momentum: float = 0.1
    """For estimator storm: the weight of a batch in its direction, above 0 and at most 1."""
    explore: float | None = None
    """Share of a batch that begins with one action repeated for a while; 0 by default, for bca 0.5 where
    the environment is fenchel's own."""
    entropy: float | None = None
    """First weight of the policy's entropy, in typical advantages; it fades. 0 by default, for bca 0.05."""
    phase_in: float | None = None
    """Share of the run in which risk aversion is phased in; 0 by default, for bca 0.5, or 0.25 of Gymnasium's
    environments."""
    policy_step_size: float | None = None
    """β of the policy; by default measured on a small pilot batch."""
    policy_step_factor: float = 1.0
    """Multiplies the policy's step size, given or measured: a grid of it is one around what was measured."""
    dual_step_size: float | None = None
    """β of the dual (for tamar, of the trackers); by default the algorithm's own (see `fenchel list`)."""
    multiplier_step_size: float = 0.08
    """For objective variance-bound: how fast its multiplier follows the relative excess of the variance."""
    schedule: str | None = None
    """Step sizes over time: constant (default), robbins-monro, which is β / (1 + t / offset)^exponent,
    cosine, which falls to zero (the default of bca), or averaging, β / (1 + t/2) (that of newton)."""
    offset: float | None = None
    """Robbins-Monro: iterations until the decay sets in; a tenth of all iterations by default."""
    exponent: float = 0.75
    """Robbins-Monro: above ½, at most 1."""
    optimizer: str | None = None
    """Transformation of the policy's direction: sgd, adam, or newton (Gauss-Newton, for bca with pathwise
    derivatives); by default the algorithm's own."""
    policy_prox: str | None = None
    """Penalty on the policy's parameters: l1, group-l1, squared-l2, ball or simplex."""
    prox_strength: float = 0.01
    """Strength of the penalty, or the radius of the ball."""
    dual_min: float | None = None
    """Project the dual on values from here on."""
    dual_max: float | None = None
    """Project the dual on values up to here."""
    order: str | None = None
    """For bsg: cyclic, shuffled, simultaneous or random order of the blocks."""
    fresh_batch: bool = False
    """A batch of its own for each block."""
    output: str = "last"
    """Which iterate is returned: last, uniform (drawn), weighted (BSG's draw) or best (on validation)."""
    smoothness: float = 1.0
    """For output weighted: the Lipschitz constant L."""
    validation_every: int = 1000
    """For output best: iterations between two looks."""
    validation_episodes: int = 1000
    """For output best: episodes per look."""
    dual: float | None = None
    """First value of the dual, which bca holds while it phases risk aversion in; by default the best one for
    a return of zero, and not held."""
    seed: int = 0
    """Everything random follows from it."""

    def __post_init__(self) -> None:
        for name, value in vars(self).copy().items():
            object.__setattr__(self, name, _plain(value))
        self._check_numbers()
        require_choice("output", self.output, OUTPUT_NAMES)
        for field, names in CHOICES.items():
            if getattr(self, field) is not None:
                require_choice(field, getattr(self, field), names)
        require_switch("fresh_batch", self.fresh_batch)

    def _check_numbers(self) -> None:
        for field in _POSITIVE:
            require_positive(field, getattr(self, field))
        for field in ("policy_step_size", "dual_step_size", "variance_bound"):
            _if_given(require_nonnegative, field, getattr(self, field))
        require_number("benchmark", self.benchmark)
        for field in ("dual", "dual_min", "dual_max"):
            _if_given(require_number, field, getattr(self, field))
        if self.dual_min is not None and self.dual_max is not None:
            remedy = f"must not exceed dual_max = {self.dual_max!r}"
            require(self.dual_min <= self.dual_max, "dual_min", self.dual_min, remedy)
        require(0 < require_number("level", self.level) <= 1, "level", self.level, _LEVEL)
        _if_given(require_positive, "offset", self.offset)
        require(0 < require_number("momentum", self.momentum) <= 1, "momentum", self.momentum, _LEVEL)
        for field in ("validation_every", "validation_episodes"):
            require_count(field, getattr(self, field))
        for field in ("episodes", "batch_size"):
            _if_given(require_count, field, getattr(self, field))
        for field in ("entropy", "phase_in", "explore"):
            _if_given(require_nonnegative, field, getattr(self, field))
        for field in ("phase_in", "explore"):
            value = getattr(self, field)
            require(value is None or value < 1, field, value, "is a share, and must be below 1")
        require(0.5 < require_number("exponent", self.exponent) <= 1, "exponent", self.exponent, _EXPONENT)

    def changed(self, changes: dict[str, Any]) -> Self:
        """With some fields replaced; an unknown name is an error that names the nearest one."""
        names = [field.name for field in fields(self)]
        for name in changes:
            require_choice("setting", name, names)
        return replace(self, **changes)

    @property
    def batch(self) -> int:
        """Episodes per batch; one where nothing was said."""
        return 1 if self.batch_size is None else self.batch_size

    @property
    def count(self) -> int:
        """Episodes of the run; none where nothing was said yet."""
        return 0 if self.episodes is None else self.episodes

    def filled(self, defaults: dict[str, Any]) -> Self:
        """With defaults where nothing was said."""
        return replace(
            self, **{name: value for name, value in defaults.items() if getattr(self, name) is None}
        )

    def require_default(self, names: tuple[str, ...], why: str) -> None:
        """Raise if any of these was changed."""
        plain = type(self)()
        for name in names:
            value = getattr(self, name)
            if value != getattr(plain, name):
                raise InputError(name, value, why)


_POSITIVE = (
    *("risk_aversion", "policy_step_factor", "multiplier_step_size", "prox_strength"),
    "smoothness",
)
_LEVEL = "must be above 0 and at most 1"
_EXPONENT = "must be above 1/2 and at most 1 (Robbins-Monro)"


def _plain(value: Any) -> Any:
    """A number of NumPy's or JAX's as Python's; anything else as it is."""
    return value.item() if getattr(value, "ndim", None) == 0 else value


def _if_given(check: Any, field: str, value: Any) -> None:
    if value is not None:
        check(field, value)
