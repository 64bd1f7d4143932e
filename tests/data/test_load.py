"""Files of prices and returns: what is read, and what is refused, by row and column."""

import datetime
import sys

import numpy as np
import polars
import pytest

from fenchel.data import AssetReturns, load_returns, load_rows
from fenchel.errors import InputError

DAYS = [f"2024-01-{day:02d}" for day in range(1, 13)]


def written(folder, rows, header="date,a,b", name="table.csv"):
    path = folder / name
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def rows_with(cell, at=4, dates=DAYS):
    """Good rows, but for one cell of column a."""
    return [f"{day},{cell if i == at else 100 + i},{50 + i * i}" for i, day in enumerate(dates)]


def test_prices_become_gross_returns(tmp_path):
    found = load_returns(written(tmp_path, rows_with(104)))
    prices = np.array([[100 + i, 50 + i * i] for i in range(12)], float)
    np.testing.assert_allclose(found.gross, prices[1:] / prices[:-1])
    assert (found.assets, found.dates[0], len(found.dates)) == (("a", "b"), "2024-01-02", 11)


def test_returns_are_net_and_dates_may_be_absent(tmp_path):
    path = written(tmp_path, ["0.01,-0.5", "0.02,0.25"], header="a,b")
    found = load_returns(path, "returns")
    np.testing.assert_allclose(found.gross, [[1.01, 0.5], [1.02, 1.25]])
    assert found.dates is None


def test_parquet_reads_like_csv(tmp_path):
    path = written(tmp_path, rows_with(104))
    polars.read_csv(path, try_parse_dates=True).write_parquet(tmp_path / "table.parquet")
    one, other = load_returns(path), load_returns(tmp_path / "table.parquet")
    np.testing.assert_array_equal(one.gross, other.gross)
    assert one.dates == other.dates


MONTHS = ["2024-01-31", "2024-02-29", "2024-03-31", "2024-04-30"]
BAD = {
    "price zero": (rows_with(0), "row 5, column a", "prices are above 0"),
    "price below": (rows_with(-3), "row 5, column a", "prices are above 0"),
    "nothing there": (rows_with(""), "row 5, column a", "is missing"),
    "not available": (rows_with("NA"), "row 5, column a", "is missing"),
    "not a number": (rows_with("nan"), "row 5, column a", "is missing"),
    "infinite": (rows_with("inf"), "row 5, column a", "not finite"),
    "text": (rows_with("abc"), "row 5, column a", "no number"),
    "no date": (rows_with(1, dates=["x", *DAYS[1:]]), "row 1, column date", "no date"),
    "unsorted": (rows_with(1, dates=[DAYS[1], DAYS[0], *DAYS[2:]]), "row 2, column date", "sort the rows"),
    "twice": (rows_with(1, dates=[DAYS[0], DAYS[0], *DAYS[2:]]), "row 2, column date", "twice"),
    "mixed": (rows_with(1, dates=DAYS + MONTHS[1:]), "row 13, column date", "1 are typical"),
    "hole": (
        rows_with(1, dates=[*MONTHS, "2024-07-31", "2024-08-31"]),
        "row 5, column date",
        "one frequency",
    ),
    "constant": ([f"{day},100,{50 + i * i}" for i, day in enumerate(DAYS)], "column a", "leave it out"),
    "one row": (rows_with(1, dates=DAYS[:1]), "rows", "too few"),
    "no column": (None, "data", "no column of numbers"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_said_with_its_place(case, tmp_path):
    rows, field, remedy = BAD[case]
    path = written(tmp_path, rows) if rows else written(tmp_path, DAYS, header="date")
    with pytest.raises(InputError, match=remedy) as error:
        load_returns(path)
    assert error.value.field == field


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match="is no file"):
        load_returns(tmp_path / "absent.csv")
    with pytest.raises(InputError, match=r"choose one of \.csv, \.parquet"):
        load_returns(written(tmp_path, DAYS, name="table.txt"))
    with pytest.raises(InputError, match="one name: a_duplicated_0"):
        load_returns(written(tmp_path, rows_with(1), header="date,a,a"))
    with pytest.raises(InputError, match="did you mean 'prices'"):
        load_returns(tmp_path / "table.csv", "price")
    with pytest.raises(InputError, match="more than all"):
        load_returns(written(tmp_path, rows_with(-1.5)), "returns")


def test_polars_is_asked_for_by_name(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(InputError, match=r"pip install 'fenchel\[data\]'"):
        load_returns(written(tmp_path, rows_with(1)))


def test_weekends_and_holidays_are_no_change_of_frequency(tmp_path):
    start = datetime.date(2024, 1, 1)
    days = [start + datetime.timedelta(days=i) for i in range(200)]
    kept = [str(day) for day in days if day.weekday() < 5 and not 40 <= (day - start).days < 47]
    assert len(load_returns(written(tmp_path, rows_with(104, dates=kept)))) == len(kept) - 1


def test_new_rows_may_be_few_and_have_other_columns(tmp_path):
    path = written(tmp_path, ["2024-01-01,5,1,7", "2024-01-02,6,2,8"], header="date,b,x,a")
    found = load_rows(path, ("a", "b"))
    np.testing.assert_allclose(found.gross, [[8 / 7, 6 / 5]])
    assert found.dates == ("2024-01-01", "2024-01-02")
    with pytest.raises(InputError, match="no column c"):
        load_rows(path, ("a", "c"))


def test_rows_that_suffice():
    gross = 1 + np.random.default_rng(0).normal(0, 0.1, (20, 2))
    table = AssetReturns(("a", "b"), gross)
    table.require_rows(20, "the rows")
    with pytest.raises(InputError, match="at least 21 periods"):
        table.require_rows(21, "the rows")
    table.require_independent()
    with pytest.raises(InputError, match=r"column = 'c'.*follows from"):
        AssetReturns(("a", "b", "c"), np.column_stack([gross, 2 - gross[:, 0]])).require_independent()
    for holdout in (0.0, 1.0):
        with pytest.raises(InputError, match="share between"):
            table.split(holdout)
