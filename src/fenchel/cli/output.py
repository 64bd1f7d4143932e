"""What a command prints: JSON for programs, tables for people, and on standard error what is neither."""

import io
import json
import math
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fenchel.errors import StorageError

if TYPE_CHECKING:
    from rich.table import Table

DONE, BAD_INPUT, DIVERGED, INTERRUPTED = 0, 2, 3, 130
"""Exit codes."""

EXIT_CODES = {"diverged": DIVERGED, "interrupted": INTERRUPTED}
"""By the status of a run; any other status is `DONE`."""

WIDTH = 110
"""Columns of a table that is not written to a terminal."""


def accept_any_text() -> None:
    """A character that standard output cannot show becomes a question mark, not an error."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def write(text: str) -> None:
    """Write to standard output, which may have been closed by whoever started the command."""
    if sys.stdout is not None:
        with output_errors():
            sys.stdout.write(text)


@contextmanager
def output_errors() -> Iterator[None]:
    """Standard output is written in this block; that its reader has left is no error."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        _forget_output()
    except OSError as error:
        _forget_output()
        raise StorageError(f"standard output: could not be written ({error.strerror or error})") from None


def _forget_output() -> None:
    """Send the rest nowhere, or Python complains once more when it closes the stream."""
    with open(os.devnull, "wb") as nowhere:  # noqa: PTH123
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


def say(text: str) -> None:
    """One line on standard error."""
    if sys.stderr is not None:
        print(f"fenchel: {' '.join(text.split())}", file=sys.stderr, flush=True)  # noqa: T201


def write_json(data: Mapping[str, Any]) -> None:
    """One JSON object. Numbers that JSON does not have are null."""
    write(json.dumps(finite(data), allow_nan=False) + "\n")


def finite(data: Any) -> Any:
    """The same data with None for every number that is not finite.

    >>> finite({"mean": float("nan"), "grid": (1, 2.5)})
    {'mean': None, 'grid': [1, 2.5]}
    """
    if isinstance(data, Mapping):
        return {str(key): finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [finite(value) for value in data]
    if isinstance(data, float) and not math.isfinite(data):
        return None
    return data


def write_tables(tables: Iterable["Table"]) -> None:
    """Tables, as wide as the terminal."""
    from rich.console import Console

    paper = io.StringIO()
    console = Console(
        file=paper,
        width=shutil.get_terminal_size((WIDTH, 0)).columns,
        force_terminal=sys.stdout is not None and sys.stdout.isatty(),
        markup=False,
        highlight=False,
        emoji=False,
    )
    for table in tables:
        console.print(table)
    write(paper.getvalue())


def table(title: str, rows: Iterable[Iterable[object]], columns: Iterable[str] = ()) -> "Table":
    """A table; without names of columns it has no header."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    names = list(columns)
    made = Table(
        *names, title=Text(title), title_justify="left", box=box.SIMPLE_HEAD, show_header=bool(names)
    )
    for row in rows:
        made.add_row(*(Text(shown(value), overflow="fold") for value in row))
    return made


def shown(value: object) -> str:
    """A value in a table: six digits of a number, nothing for None.

    >>> shown(1.23456789), shown(1000000), shown(None)
    ('1.23457', '1,000,000', '')
    """
    if value is None or isinstance(value, bool):
        return "" if value is None else str(value).lower()
    if isinstance(value, float):
        return f"{value:.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
