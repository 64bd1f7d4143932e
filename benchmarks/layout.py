"""What the layout of the compiled loop is worth: each decision against its alternatives."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import jax
from contest import Contestant, Worker, ratios, turns
from workloads import LEARNERS

from fenchel.noise import uniforms
from fenchel.training.learner import MOST_AT_ONCE, NOISE_BUDGET
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


def measure(repetitions: int, seconds: float) -> Iterator[dict[str, Any]]:
    """A line per alternative: fenchel's rate over that of the alternative."""
    bulk, block = Drawing(lambda key: uniforms(key, (NUMBERS,))), Drawing(_block_each)
    blocks = "uniforms: two numbers per threefry block, over jax.random.uniform"
    yield from _compared([(blocks, block)], bulk, repetitions, seconds)
    for name, ours, alternatives in _contests():
        named = [(f"{name}: {what}", worker) for what, worker in alternatives]
        with ExitStack() as stack:
            for worker in (ours, *(worker for _, worker in named)):
                stack.enter_context(worker)
            yield from _compared(named, ours, repetitions, seconds)


def _block_each(key: jax.Array) -> jax.Array:
    return jax.random.uniform(key, (NUMBERS,))


def _contests() -> Iterator[tuple[str, Worker, list[tuple[str, Worker]]]]:
    yield "one learner", Worker("one"), [("noise in bulk, over a key per step", Worker("keyed"))]
    cores = os.cpu_count() or 1
    forced = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={cores}"
    threads = [
        (f"threads over parts, over {cores} forced host devices", Worker("many", {"XLA_FLAGS": forced})),
        ("threads over parts, over one part after the other", Worker("many", threads=1)),
        ("threads over parts, over one wide vmap", Worker("many", width=LEARNERS)),
    ]
    yield "1,024 learners", Worker("many"), threads
    widths = [(f"WIDTH {WIDTH}, over {width}", Worker("many", width=width)) for width in (16, 32, 128, 256)]
    yield "1,024 learners", Worker("many"), widths
    yield "tabular, batches", Worker("tabular"), _budgets("tabular", (13, 15, 19))
    yield "one learner", Worker("one"), _blocks(8, 32, 1024)
    ours, others = Worker("many", chunk=100), [Worker("many", chunk=100, most_at_once=n) for n in (32, 1024)]
    names = [f"MOST_AT_ONCE {MOST_AT_ONCE}, over {n}" for n in (32, 1024)]
    yield "1,024 learners, chunks of 100", ours, list(zip(names, others, strict=True))
    for name in ("one", "many"):
        single = [("as it is, over XLA held to one thread (PJRT_NPROC=1)", Worker(name, {"PJRT_NPROC": "1"}))]
        yield {"one": "one learner", "many": "1,024 learners"}[name], Worker(name), single


def _budgets(workload: str, powers: Sequence[int]) -> list[tuple[str, Worker]]:
    ours = NOISE_BUDGET.bit_length() - 1
    return [
        (f"NOISE_BUDGET 2^{ours}, over 2^{power}", Worker(workload, noise_budget=2**power))
        for power in powers
    ]


def _blocks(*sizes: int) -> list[tuple[str, Worker]]:
    return [(f"MOST_AT_ONCE {MOST_AT_ONCE}, over {n}", Worker("one", most_at_once=n)) for n in sizes]


def _compared(
    named: Sequence[tuple[str, Contestant]], ours: Contestant, repetitions: int, seconds: float
) -> Iterator[dict[str, Any]]:
    base, *others = turns([ours, *(other for _, other in named)], repetitions, seconds)
    for (name, _), rates in zip(named, others, strict=True):
        yield {"what": name, "ratio": ratios(base, rates)}
