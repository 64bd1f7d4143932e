"""Numbers and tables in Markdown."""

from collections.abc import Iterable

from fenchel.intervals import Interval


def lines(rows: Iterable[Iterable[str]]) -> str:
    """Rows of a table.

    >>> print(lines([["a", "b"], ["1", "2"]]))
    | a | b |
    | 1 | 2 |
    """
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def with_interval(interval: Interval) -> str:
    """Four digits, and what the number could as well have been."""
    return f"{interval.estimate:.4g} [{interval.low:.4g}, {interval.high:.4g}]"


def signed(interval: Interval) -> str:
    """The same of a difference."""
    return f"{interval.estimate:+.3g} [{interval.low:+.3g}, {interval.high:+.3g}]"


def percent(interval: Interval) -> str:
    """The same of a part of a whole."""
    return f"{interval.estimate:.0%} [{interval.low:.0%}, {interval.high:.0%}]"
