"""From text to values, and from values to JSON."""

import json
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fenchel.cli.options import as_text, convert, options_of
from fenchel.cli.output import finite
from fenchel.errors import InputError

VALUES = [
    (int, st.integers()),
    (float, st.floats(allow_nan=False, allow_infinity=False)),
    (bool, st.booleans()),
    (float | None, st.none() | st.floats(allow_nan=False, allow_infinity=False)),
    (tuple[int, ...], st.lists(st.integers(), min_size=1).map(tuple)),
    (tuple[int, ...] | None, st.none() | st.lists(st.integers(), min_size=1).map(tuple)),
]


@pytest.mark.parametrize(("declared", "values"), VALUES, ids=[str(declared) for declared, _ in VALUES])
@given(data=st.data())
def test_round_trip(declared, values, data):
    value = data.draw(values)
    assert convert("x", declared, as_text(value)) == value


@given(
    st.recursive(st.none() | st.floats() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x))
)
def test_json_is_always_valid(data):
    json.loads(json.dumps(finite(data), allow_nan=False))


@pytest.mark.parametrize("text", ["", "x", "1.5", "inf", "nan", "none"])
def test_no_whole_number(text):
    with pytest.raises(InputError, match="must be a whole number"):
        convert("x", int, text)


def test_options_of_a_dataclass():
    @dataclass
    class Example:
        run_dir: str
        """where"""
        bare: int = 1
        long: float | None = None
        """One line
        and another."""

    first, bare, last = options_of(Example)
    assert (first.is_positional, first.metavar, first.help) == (True, "RUN_DIR", "where")
    assert (bare.flag, bare.help, bare.metavar) == ("--bare", "", "INT")
    assert (last.help, last.default, last.metavar) == ("One line and another.", None, "FLOAT")
