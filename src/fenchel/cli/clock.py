"""How long JAX was compiling."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

COMPILING = "/jax/core/compile/"
"""Prefix of the spans that JAX reports: tracing, lowering, and compiling or finding in the cache."""


@contextmanager
def compile_clock() -> Iterator[Callable[[], float]]:
    """A function that says for how many seconds of the block anything was compiled, in whichever thread."""
    from jax import monitoring

    spans: list[tuple[float, float]] = []

    def note(event: str, start_time: float, end_time: float, **_: Any) -> None:
        if event.startswith(COMPILING):
            spans.append((start_time, end_time))

    monitoring.register_event_time_span_listener(note)
    try:
        yield lambda: covered(spans)
    finally:
        monitoring.unregister_event_time_span_listener(note)


def covered(spans: Iterable[tuple[float, float]]) -> float:
    """Length of a union of intervals: threads compile side by side, and spans lie in one another.

    >>> covered([(4, 5), (0, 2), (1, 3), (1, 2)])
    4.0
    """
    total, reached = 0.0, float("-inf")
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total
