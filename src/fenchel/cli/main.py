"""The command `fenchel`. Nothing heavy is imported before it is needed: help pages do without JAX."""

import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from types import FrameType
from typing import Any

from fenchel import __version__
from fenchel.cli.flags import UsageError, wants_help
from fenchel.cli.output import BAD_INPUT, DONE, INTERRUPTED, accept_any_text, say, write
from fenchel.errors import FenchelError, require_choice

COMMANDS = {
    "train": "learn a policy",
    "evaluate": "play fresh episodes with the policy of a run",
    "frontier": "the best policies over a grid of risk aversions, for a risk budget",
    "apply": "what a saved allocation policy holds now, on new rows of data",
    "exact": "the certified optimum and frontier of an environment",
    "paper": "rerun the paper's experiments and theory, and say what holds",
    "list": "show environments, algorithms, objectives, policies and settings",
}

HELP = f"""\
usage: fenchel COMMAND [options]

Risk-averse sequential decisions by block coordinate ascent on a dual objective.

commands:
{"".join(f"  {name:10} {summary}{chr(10)}" for name, summary in COMMANDS.items())}
options:
  --help     this text; `fenchel COMMAND --help` for the options of a command
  --version  the version

examples:
  fenchel train option --episodes 100000 --risk-aversion 0.5 --out runs/first
  fenchel evaluate runs/first
  fenchel train stopping --episodes 100000 --figure stopping.png
  fenchel exact option --risk-aversion 1
  fenchel train option --help      what the environment `option` can be told
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the exit code says how it went: 0 done, 2 bad input, 3 diverged, 130 interrupted."""
    words = sys.argv[1:] if argv is None else list(argv)
    accept_any_text()
    try:
        with _terminable(), _warnings_in_a_line():
            return _dispatch(words)
    except FenchelError as error:
        say(f"error: {error}")
        return BAD_INPUT
    except KeyboardInterrupt as stop:
        say(str(stop) or "interrupted")
        return INTERRUPTED


def _dispatch(words: list[str]) -> int:
    if not words:
        raise UsageError(f"a command is missing: choose one of {', '.join(COMMANDS)}, or --help")
    if words[0] == "--version":
        write(f"fenchel {__version__}\n")
        return DONE
    if wants_help(words[:1]):
        write(HELP)
        return DONE
    require_choice("command", words[0], COMMANDS)
    code: int = import_module(f"fenchel.cli.{words[0]}").run(words[1:])
    return code


@contextmanager
def _terminable() -> Iterator[None]:
    """A polite request to end is taken like Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _warnings_in_a_line() -> Iterator[None]:
    """A warning is for the user of the command: no file, no line of code."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        say(f"warning: {message}")

    before = warnings.showwarning
    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = before


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
