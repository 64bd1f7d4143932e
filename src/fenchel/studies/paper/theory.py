"""The paper's theory, measured on exact instances: stages that `fenchel.theory` computes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass
from typing import Any, NamedTuple, get_args, get_type_hints

from fenchel.studies.paper.plan import Plan
from fenchel.studies.stages import Results, Stage, fraction_of
from fenchel.theory import (
    Bias,
    LemmaCheck,
    OptionOne,
    Rates,
    bias,
    check_lemma,
    far_from_zero,
    one_two_five,
    option_one,
    rates,
    straddle,
)
from fenchel.training import Callback

STEP_COST = 3.0
"""What an update of an instance takes, in steps of episodes of a domain."""

FIRST_LOOK = 100
"""Episodes after which the gradient is first looked at."""

DUAL_STEPS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
"""Step sizes of the dual at which the bias is measured; up to ½ the dual stays in its range."""


class Theory(NamedTuple):
    """What was measured."""

    rates: Rates
    option_one: OptionOne
    bias: Bias
    lemma: LemmaCheck


def theory_stages(plan: Plan) -> list[Stage]:
    """A stage per measurement."""
    sampled = plan.bias_episodes
    parts: list[tuple[str, int, Callable[..., Any]]] = [
        ("rates", sum(plan.rate_counts) * plan.rate_seeds, _rates),
        ("option_one", plan.decay_episodes * plan.decay_seeds, _option_one),
        ("bias", 2 * len(DUAL_STEPS) * sampled, _bias),
        ("lemma", sampled, _lemma),
    ]

    def stage(name: str, updates: int, measure: Callable[..., Any]) -> Stage:
        def compute(results: Mapping[str, Results], watch: Callable[[float], None]) -> Results:
            return asdict(measure(plan, [fraction_of(watch)]))

        return Stage(f"theory/{name}", STEP_COST * updates, compute)

    return [stage(*part) for part in parts]


def theory_of(results: Mapping[str, Results]) -> Theory:
    """What the stages wrote down."""
    kinds = get_type_hints(Theory)
    return Theory(**{name: revive(kinds[name], results[f"theory/{name}"]) for name in Theory._fields})


def revive(kind: Any, data: Any) -> Any:
    """What `asdict` took apart, from JSON.

    >>> from fenchel.theory import Bound
    >>> revive(Bound, {"label": "x", "printed": 1.0, "corrected": 2.0}).corrected
    2.0
    """
    if isinstance(kind, type) and is_dataclass(kind):
        hints = get_type_hints(kind)
        return kind(**{field.name: revive(hints[field.name], data[field.name]) for field in fields(kind)})
    if isinstance(data, list):
        return tuple(revive(get_args(kind)[0], item) for item in data)
    return data


def _rates(plan: Plan, callbacks: Sequence[Callback]) -> Rates:
    return rates(straddle(), plan.rate_counts, range(plan.rate_seeds), callbacks=callbacks)


def _option_one(plan: Plan, callbacks: Sequence[Callback]) -> OptionOne:
    looks = one_two_five(FIRST_LOOK, plan.decay_episodes)
    return option_one(straddle(), looks, range(plan.decay_seeds), callbacks=callbacks)


def _bias(plan: Plan, callbacks: Sequence[Callback]) -> Bias:
    return bias(straddle(), DUAL_STEPS, episodes=plan.bias_episodes)


def _lemma(plan: Plan, callbacks: Sequence[Callback]) -> LemmaCheck:
    return check_lemma(far_from_zero())
