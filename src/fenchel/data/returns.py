"""Asset returns of consecutive periods."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fenchel.errors import InputError, require, require_count, require_number

Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class AssetReturns:
    """Gross returns, a row per period and a column per asset.

    Arguments:
        assets: their names.
        gross: 1 + return.
        dates: the day or moment on which each period ends, as text; None where the file has none.

    >>> table = AssetReturns(("a", "b"), 1 + np.arange(20.0).reshape(10, 2) / 100)
    >>> [len(part) for part in table.split(0.2)]
    [8, 2]
    """

    assets: tuple[str, ...]
    gross: Array
    dates: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self.gross)

    def split(self, holdout: float) -> tuple["AssetReturns", "AssetReturns"]:
        """What comes first, and the share of the rows that comes last."""
        require(0 < require_number("holdout", holdout) < 1, "holdout", holdout, "is a share between 0 and 1")
        first = len(self) - round(holdout * len(self))
        return self._rows(slice(None, first)), self._rows(slice(first, None))

    def require_rows(self, horizon: int, part: str) -> None:
        """Raise unless there is an episode's length of rows, and more rows than assets."""
        require_count("horizon", horizon)
        least = max(horizon, len(self.assets) + 2)
        remedy = f"{part} need at least {least} periods for {horizon} dates and {len(self.assets)} assets: "
        require(
            len(self) >= least, "rows", len(self), remedy + "take more data, fewer dates or another holdout"
        )

    def require_independent(self) -> None:
        """Raise where an asset's returns follow from those of others: its amount could be anything."""
        centred = self.gross - self.gross.mean(axis=0)
        scaled = centred / centred.std(axis=0)
        _, kept = np.linalg.qr(scaled)
        loose = np.abs(np.diag(kept)) < 1e-7 * len(scaled) ** 0.5
        if loose.any():
            name = self.assets[int(np.argmax(loose))]
            raise InputError("column", name, "follows from the columns before it: leave it out")

    def _rows(self, rows: slice) -> "AssetReturns":
        dates = None if self.dates is None else self.dates[rows]
        return replace(self, gross=self.gross[rows], dates=dates)
