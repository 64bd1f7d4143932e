"""What a table must be to learn from; everything else is an error that says where."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from fenchel.data.returns import Array
from fenchel.errors import InputError

DAY = 24 * 3600.0
"""Seconds."""

WORKDAYS = 5 * DAY
"""Below such a typical gap, week-ends and holidays make gaps of many lengths."""

USUAL = (0.6, 1.6)
"""Lengths of a gap, in typical ones, where gaps are weeks or longer: months have 28 to 31 days."""

LONGEST_BREAK = 14 * DAY
"""Holidays of daily data."""

LONG_SHARE = 0.05
"""Share of gaps longer than a long week-end that daily data may have."""


def cell(row: int, column: str) -> str:
    """A place in a table; rows are counted from 1, below the header."""
    return f"row {row + 1}, column {column}"


def require_numbers(frame: Any) -> Array:
    """The table as numbers, all of them there and finite."""
    polars = import_module("polars")
    for name in frame.columns:
        column = frame[name]
        if column.null_count():
            _missing(column, name)
        if column.dtype == polars.String:
            _require_read(column.str.strip_chars(), name)
        elif not column.dtype.is_numeric():
            raise InputError(f"column {name}", str(column.dtype), "is no column of numbers: leave it out")
    values: Array = frame.cast(polars.Float64).to_numpy()
    wrong = ~np.isfinite(values)
    if wrong.any():
        row, place = _first(wrong)
        remedy = "is missing or not finite: leave out the row or the column, or fill it in"
        raise InputError(cell(row, frame.columns[place]), float(values[row, place]), remedy)
    return values


def _missing(column: Any, name: str) -> None:
    row = int(np.argmax(column.is_null().to_numpy()))
    more = f" ({column.null_count()} in this column)" if column.null_count() > 1 else ""
    remedy = f"is missing{more}: leave out the row or the column, or fill it in"
    raise InputError(cell(row, name), None, remedy)


def _require_read(text: Any, name: str) -> None:
    """Raise at the first text that is no number."""
    polars = import_module("polars")
    unread = text.cast(polars.Float64, strict=False).is_null().to_numpy()
    if unread.any():
        row = int(np.argmax(unread))
        if text[row].lower() in ("", "na", "n/a", "nan", "null", "none", "-", "."):
            raise InputError(
                cell(row, name), text[row], "is missing: leave out the row or the column, or fill it in"
            )
        raise InputError(cell(row, name), text[row], "is no number: correct it, or leave the column out")


def require_positive_cells(values: Array, names: Sequence[str], shift: float, remedy: str) -> None:
    """Raise at the first value that is not positive, shown less `shift`."""
    wrong = values <= 0
    if wrong.any():
        row, place = _first(wrong)
        raise InputError(cell(row, names[place]), round(float(values[row, place] - shift), 12), remedy)


def require_moving(gross: Array, names: Sequence[str]) -> None:
    """Raise at a column whose returns are all the same."""
    still = np.ptp(gross, axis=0) <= 1e-12
    if still.any():
        name = names[int(np.argmax(still))]
        remedy = "has the same return in every period: leave it out; cash is there anyway, at env.riskless"
        raise InputError(f"column {name}", round(float(gross[0, int(np.argmax(still))]), 12), remedy)


def require_dates(dates: Any) -> Any:
    """The dates, rising."""
    name = dates.name or "(first)"
    if dates.null_count():
        row = int(np.argmax(dates.is_null().to_numpy()))
        raise InputError(cell(row, name), None, "is missing: every row needs its date")
    steps = np.diff(_seconds(dates))
    if (steps <= 0).any():
        row = int(np.argmax(steps <= 0)) + 1
        twice = steps[row - 1] == 0
        remedy = (
            "is there twice: keep one row per date" if twice else "comes after a later date: sort the rows"
        )
        raise InputError(cell(row, name), str(dates[row]), remedy)
    return dates


def require_frequency(dates: Any) -> tuple[str, ...]:
    """The dates as text, once they are known to follow one another evenly."""
    gaps = np.diff(_seconds(dates))
    typical = float(np.median(gaps))
    if typical >= WORKDAYS:
        odd = (gaps < USUAL[0] * typical) | (gaps > USUAL[1] * typical)
    elif typical >= DAY:
        long = gaps > WORKDAYS
        odd = (gaps > LONGEST_BREAK) | (long if long.mean() > LONG_SHARE else gaps < DAY)
    else:
        odd = gaps > LONGEST_BREAK
    if odd.any():
        row = int(np.argmax(odd)) + 1
        gap, usual = gaps[row - 1] / DAY, typical / DAY
        remedy = f"is {gap:.4g} days after the row before, and {usual:.4g} are typical: "
        raise InputError(
            cell(row, dates.name or "(first)"),
            str(dates[row]),
            remedy + "keep to one frequency, without holes",
        )
    return as_text(dates)


def as_text(dates: Any) -> tuple[str, ...]:
    """Dates as they are written."""
    return tuple(dates.cast(import_module("polars").String).to_list())


def _seconds(dates: Any) -> Array:
    polars = import_module("polars")
    micro = dates.cast(polars.Datetime("us")).to_physical().to_numpy()
    seconds: Array = micro.astype(np.float64) / 1e6
    return seconds


def _first(wrong: Any) -> tuple[int, int]:
    """Row and column of the first true cell, row by row."""
    row, column = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
    return int(row), int(column)
