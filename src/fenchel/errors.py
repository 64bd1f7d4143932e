"""Errors that name the field, its value and what would be right."""

import difflib
import math
from collections.abc import Iterable
from numbers import Integral
from typing import Any


class FenchelError(Exception):
    """Base of every error fenchel raises on purpose."""


class InputError(FenchelError, ValueError):
    """A value that cannot be used, found before anything is compiled or written.

    Arguments:
        field: name of the offending field, as the user wrote it.
        value: what it was.
        remedy: what would be right.
    """

    def __init__(self, field: str, value: object, remedy: str):
        self.field, self.value, self.remedy = field, value, remedy
        super().__init__(f"{field} = {value!r}: {remedy}")


class StorageError(FenchelError, OSError):
    """A run directory that cannot be read or written."""


def require(condition: bool, field: str, value: object, remedy: str) -> None:
    """Raise `InputError` unless `condition` holds."""
    if not condition:
        raise InputError(field, value, remedy)


def require_number(field: str, value: Any) -> float:
    """`value` as a finite float."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(field, value, "must be a number") from None
    require(math.isfinite(number), field, value, "must be finite")
    return number


def require_positive(field: str, value: Any) -> None:
    """Raise unless `value` is finite and above zero."""
    require(require_number(field, value) > 0, field, value, "must be above 0")


def require_nonnegative(field: str, value: Any) -> None:
    """Raise unless `value` is finite and not below zero."""
    require(require_number(field, value) >= 0, field, value, "must be 0 or more")


def require_probability(field: str, value: Any) -> None:
    """Raise unless `value` lies in [0, 1]."""
    require(0 <= require_number(field, value) <= 1, field, value, "must be a probability in [0, 1]")


def require_count(field: str, value: Any, least: int = 1) -> None:
    """Raise unless `value` is a whole number of at least `least`."""
    require(is_whole(value) and value >= least, field, value, f"must be a whole number of at least {least}")


def is_whole(value: Any) -> bool:
    """Whether `value` is a whole number, Python's or NumPy's; True and False are none."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def require_switch(field: str, value: object) -> None:
    """Raise unless `value` is True or False."""
    require(isinstance(value, bool), field, value, "must be True or False")


def require_choice(field: str, value: object, options: Iterable[str]) -> None:
    """Raise unless `value` is one of `options`; the message names the nearest one."""
    names = sorted(options)
    if value in names:
        return
    near = difflib.get_close_matches(str(value), names, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise InputError(field, value, f"{hint}choose one of {', '.join(names)}")
