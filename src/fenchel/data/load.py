"""Files of prices or returns. Polars is imported where a file is read, so that nobody else needs it."""

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from fenchel.data.checks import (
    as_text,
    require_dates,
    require_frequency,
    require_moving,
    require_numbers,
    require_positive_cells,
)
from fenchel.data.returns import AssetReturns
from fenchel.errors import InputError, require, require_choice

KINDS = ("prices", "returns")
READERS = {".csv": "read_csv", ".parquet": "read_parquet"}
DATE_NAMES = ("date", "time", "datetime", "timestamp", "day", "month")


def load_returns(path: str | Path, kind: str = "prices") -> AssetReturns:
    """Gross returns from a CSV or Parquet file: a column per asset, a row per date, oldest first.

    A first column of dates is recognised by its name or its values. What cannot be used is an `InputError`
    that names row and column; rows are counted from 1, below the header.

    Arguments:
        path: the file.
        kind: what it holds: "prices", or net "returns" (0.01 for one per cent).
    """
    require_choice("kind", kind, KINDS)
    frame = _read(Path(path))
    dates, frame = _take_dates(frame)
    require(frame.width > 0, "data", str(path), "has no column of numbers: a column per asset is needed")
    require(frame.height > 1, "rows", frame.height, "are too few: a row per date is needed")
    names = tuple(frame.columns)
    values = require_numbers(frame)
    stamps = None if dates is None else require_frequency(require_dates(dates))
    if kind == "prices":
        require_positive_cells(values, names, 0.0, _NOT_A_PRICE)
        gross, stamps = values[1:] / values[:-1], None if stamps is None else stamps[1:]
    else:
        require_positive_cells(1 + values, names, 1.0, _NOT_A_RETURN)
        gross = 1 + values
    require_moving(gross, names)
    return AssetReturns(names, gross, stamps)


def load_rows(path: str | Path, assets: tuple[str, ...], kind: str = "prices") -> AssetReturns:
    """Gross returns of the named columns of a short file: with prices, of the periods between its rows.

    Arguments:
        path: the file; it may have other columns.
        assets: names of columns.
        kind: "prices" or "returns".
    """
    require_choice("kind", kind, KINDS)
    dates, frame = _take_dates(_read(Path(path)))
    for name in assets:
        remedy = (
            f"has no column {name}, which the policy was learned with; there are {', '.join(frame.columns)}"
        )
        require(name in frame.columns, "data", str(path), remedy)
    require(frame.height > 0, "rows", frame.height, "are too few: a row is needed")
    values = require_numbers(frame.select(assets))
    stamps = None if dates is None else as_text(require_dates(dates))
    if kind == "prices":
        require_positive_cells(values, assets, 0.0, _NOT_A_PRICE)
        return AssetReturns(assets, values[1:] / values[:-1], stamps)
    require_positive_cells(1 + values, assets, 1.0, _NOT_A_RETURN)
    return AssetReturns(assets, 1 + values, stamps)


_NOT_A_PRICE = "is no price: prices are above 0. Correct it, or say kind 'returns' if these are returns"
_NOT_A_RETURN = (
    "is no return: more than all cannot be lost. Write 0.01 for one per cent, or say kind 'prices'"
)


def _read(path: Path) -> Any:
    require(path.is_file(), "data", str(path), "is no file")
    require_choice("the ending of data", path.suffix.lower(), READERS)
    try:
        polars = import_module("polars")
    except ImportError:
        raise InputError("data", str(path), "needs polars: pip install 'fenchel[data]'") from None
    options = {"try_parse_dates": True, "infer_schema_length": 1000} if path.suffix.lower() == ".csv" else {}
    reader = getattr(polars, READERS[path.suffix.lower()])
    try:
        frame = reader(path, **options)
    except polars.exceptions.ComputeError:
        frame = _read_as_text(polars, path)
    except (polars.exceptions.PolarsError, OSError) as error:
        raise InputError("data", str(path), f"cannot be read: {str(error).splitlines()[0]}") from None
    repeated = [name for name in frame.columns if "_duplicated_" in name]
    require(not repeated, "data", str(path), f"has two columns of one name: {', '.join(repeated)}")
    return frame


def _read_as_text(polars: Any, path: Path) -> Any:
    """A cell of another type than those before it: everything as text, for the cell to be found."""
    try:
        return polars.read_csv(path, infer_schema=False)
    except (polars.exceptions.PolarsError, OSError) as error:
        raise InputError("data", str(path), f"cannot be read: {str(error).splitlines()[0]}") from None


def _take_dates(frame: Any) -> tuple[Any, Any]:
    """The column of dates, if the first one is such, and the rest."""
    if frame.width == 0:
        return None, frame
    name, column = frame.columns[0], frame.to_series(0)
    if column.dtype.is_temporal():
        return column, frame.drop(name)
    if name.strip().lower() in DATE_NAMES or (not name and column.dtype == import_module("polars").String):
        return _parsed(column), frame.drop(name)
    return None, frame


def _parsed(column: Any) -> Any:
    """Text or whole numbers, such as 20240131, as dates."""
    polars = import_module("polars")
    text = column.cast(polars.String)
    for form in ("%Y-%m-%d", "%Y%m%d", "%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%Y-%m"):
        written = text + "-01" if form == "%Y-%m" else text
        dates = written.str.to_date(form + "-%d" if form == "%Y-%m" else form, strict=False)
        if dates.null_count() == text.null_count():
            return dates
    dates = text.str.to_date("%Y-%m-%d", strict=False)
    row = int(np.argmax(dates.is_null().to_numpy()))
    where = f"row {row + 1}, column {column.name or '(first)'}"
    raise InputError(where, text[row], "is no date: write 2024-01-31, in every row")
