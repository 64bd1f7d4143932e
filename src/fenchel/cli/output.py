"""What a command prints: JSON for programs, tables for people, and on standard error what is neither."""

import json
import math
import os
import sys
from collections.abc import Iterable, Mapping
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


def write(text: str) -> None:
    """Write to standard output; a reader who has left is no error."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
        sys.stdout.flush()
    except BrokenPipeError:
        forget_output()
    except OSError as error:
        forget_output()
        raise StorageError(f"standard output: could not be written ({error.strerror or error})") from None


def forget_output() -> None:
    """Send the rest nowhere, or Python complains once more when it closes the stream."""
    with open(os.devnull, "wb") as nowhere:  # noqa: PTH123
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


def say(text: str) -> None:
    """One line on standard error."""
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

    fixed = None if sys.stdout.isatty() or "COLUMNS" in os.environ else WIDTH
    console = Console(width=fixed, markup=False, highlight=False, emoji=False)
    with console.capture() as captured:
        for table in tables:
            console.print(table)
    write(captured.get())


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
