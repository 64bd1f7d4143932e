"""What the layout of the compiled loop is worth: each decision against its alternatives."""

import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import jax
from contest import Contestant, Worker, ratios, turns

from fenchel.noise import uniforms
from fenchel.training.learner import NOISE_BUDGET
from fenchel.training.parts import WIDTH

NUMBERS = 2**20


class Drawing:
    """Numbers drawn per second by a generator."""

    def __init__(self, draw: Callable[[jax.Array], jax.Array]):
        self.draw = jax.jit(draw)
        self.key = jax.random.key(0)

    def rate(self, seconds: float) -> float:
        """Numbers per second over about so many seconds."""
        begun, count = time.perf_counter(), 0
        while time.perf_counter() - begun < seconds:
            self.draw(self.key).block_until_ready()
            count += 1
        return count * NUMBERS / (time.perf_counter() - begun)


def lines(repetitions: int, seconds: float) -> list[dict[str, Any]]:
    """A line per alternative: fenchel's rate over that of the alternative."""

    def against(alternatives: Sequence[tuple[str, Worker]], ours: Worker) -> list[dict[str, Any]]:
        with ExitStack() as stack:
            workers = [stack.enter_context(worker) for worker in (ours, *(w for _, w in alternatives))]
            return _compared([name for name, _ in alternatives], workers, repetitions, seconds)

    cores = os.cpu_count() or 1
    found = _compared(
        ["two numbers per threefry block, over jax.random.uniform"],
        [Drawing(lambda key: uniforms(key, (NUMBERS,))), Drawing(lambda key: jax.random.uniform(key, (NUMBERS,)))],
        repetitions,
        seconds,
    )
    keyed = ("one learner: noise in bulk, over a key per step", Worker("keyed"))
    found += against([keyed, *_budgets("one")], Worker("one"))
    threads = [
        (f"1,024 learners: threads over parts, over {cores} forced host devices", Worker("many", cores)),
        ("1,024 learners: threads over parts, over the parts one by one", Worker("many", threads=1)),
        ("1,024 learners: threads over parts, over one wide vmap", Worker("many", width=1024)),
    ]
    found += against(threads, Worker("many"))
    widths = [
        (f"1,024 learners: WIDTH {WIDTH}, over {width}", Worker("many", width=width))
        for width in (8, 16, 32, 64, 128, 256)
        if width != WIDTH
    ]
    found += against(widths, Worker("many"))
    return found + against(_budgets("many"), Worker("many"))


def _budgets(workload: str) -> list[tuple[str, Worker]]:
    named = {"one": "one learner", "many": "1,024 learners"}[workload]
    powers = [power for power in (10, 13, 15, 17, 19, 21) if 2**power != NOISE_BUDGET]
    ours = NOISE_BUDGET.bit_length() - 1
    return [
        (f"{named}: NOISE_BUDGET 2^{ours}, over 2^{power}", Worker(workload, noise_budget=2**power))
        for power in powers
    ]


def _compared(
    names: Sequence[str], contestants: Sequence[Contestant], repetitions: int, seconds: float
) -> list[dict[str, Any]]:
    ours, *others = turns(contestants, repetitions, seconds)
    return [
        {"what": name, "ratio": ratios(ours, rates)} for name, rates in zip(names, others, strict=True)
    ]
