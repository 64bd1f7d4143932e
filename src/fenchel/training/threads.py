"""Work on several threads, each in the precision of whoever asked for it."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax


def on_threads(run: Callable[[Any], Any], items: Sequence[Any], threads: int) -> list[Any]:
    """`run` of every item, in order.

    JAX keeps `jax.enable_x64(...)` per thread, so a thread has to be told what holds where it was started.

    >>> on_threads(abs, [-1, 2], 2)
    [1, 2]
    """
    precise = bool(jax.config.jax_enable_x64)  # type: ignore[attr-defined]

    def one(item: Any) -> Any:
        if bool(jax.config.jax_enable_x64) == precise:  # type: ignore[attr-defined]
            return run(item)
        with jax.enable_x64(precise):
            return run(item)

    if min(threads, len(items)) == 1:
        return [run(item) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(one, items))
