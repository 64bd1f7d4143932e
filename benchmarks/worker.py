"""A process that learns on demand, so that contestants compiled differently can take turns.

Its argument is a JSON object: the workload, and what of the layout differs. It prints its first answer when
it is compiled; then, for a number of seconds on each line of its input, it learns for about that long.
"""

import json
import sys
import time
from typing import Any

import jax
import jax.numpy as jnp
from workloads import problems

from fenchel.training import learner, parts

LEAST = 1024
"""Fewest episodes of a learner that are timed: some blocks of noise, so that no part of one weighs."""


def main() -> None:
    """Compile, then answer."""
    wanted = json.loads(sys.argv[1])
    parts.WIDTH = wanted.get("width", parts.WIDTH)
    learner.NOISE_BUDGET = wanted.get("noise_budget", learner.NOISE_BUDGET)
    learner.MOST_AT_ONCE = wanted.get("most_at_once", learner.MOST_AT_ONCE)
    found = problems(wanted["workload"])
    learners = parts.Parts(found)
    learners.threads = wanted.get("threads", learners.threads)
    if jax.device_count() > 1:
        _spread(learners)
    chunk = wanted.get("chunk", 2**30)
    learners.advance(0, 1)
    _answer(0, 1.0)
    per_iteration = len(found) * found[0].episodes_per_iteration
    at, pace = 1, 0.0
    for line in sys.stdin:
        count = max(LEAST // found[0].episodes_per_iteration, int(pace * float(line)))
        begun = time.perf_counter()
        for first in range(at, at + count, chunk):
            learners.advance(first, min(first + chunk, at + count))
        seconds = time.perf_counter() - begun
        at, pace = at + count, count / seconds
        _answer(count * per_iteration, seconds)


def _spread(learners: parts.Parts) -> None:
    """Deal the parts over the devices; each has its own thread, so that none is needed here."""
    devices = jax.devices()

    def put(trees: Any) -> list[Any]:
        return [jax.device_put(tree, devices[i % len(devices)]) for i, tree in enumerate(trees)]

    learners.numbers, learners.keys = put(learners.numbers), put(learners.keys)
    learners.learners = tuple(put(learners.learners))

    def advance(start: int, stop: int) -> None:
        rows = zip(learners.numbers, learners.keys, learners.learners, strict=True)
        span = jnp.asarray(start, jnp.int32), jnp.asarray(stop, jnp.int32)
        spans = [jax.device_put(span, device) for device in devices]
        moved = [
            parts._advance_part(learners.shared, learners.outline, row, spans[i % len(devices)])
            for i, row in enumerate(rows)
        ]
        learners.learners = tuple(jax.block_until_ready(moved))

    learners.advance = advance  # type: ignore[method-assign]


def _answer(episodes: int, seconds: float) -> None:
    print(json.dumps({"episodes": episodes, "seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
