"""Tables of prices or returns from files: loaded, checked, and split in time."""

from fenchel.data.load import KINDS, load_returns, load_rows
from fenchel.data.returns import AssetReturns

__all__ = ["KINDS", "AssetReturns", "load_returns", "load_rows"]
