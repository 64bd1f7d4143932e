"""Interrupts wait for the end of a chunk, so that what is saved is always whole."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class Interrupts:
    """Whether somebody asked to stop."""

    def __init__(self) -> None:
        self.requested = False

    def handle(self, number: int, frame: FrameType | None) -> None:
        """The first request waits for the end of the chunk; a second one does not."""
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True


@contextmanager
def deferred() -> Iterator[Interrupts]:
    """Defer SIGINT and SIGTERM while the block runs; outside the main thread nothing is changed."""
    interrupts = Interrupts()
    if threading.current_thread() is not threading.main_thread():
        yield interrupts
        return
    before: dict[signal.Signals, Any] = {}
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            before[number] = signal.signal(number, interrupts.handle)
        yield interrupts
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
