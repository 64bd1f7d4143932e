"""Prices that move by factors, and the numbers that can hold them."""

from math import inf, log

import numpy as np

from fenchel.errors import require


def require_prices_held(start: float, spread: float, up: float, down: float, horizon: int) -> None:
    """Raise where prices could leave the range of single precision, whatever is computed in here."""
    least, most = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max)
    why = f"leads to prices outside the range of a float32, {least:.2g} to {most:.2g}"
    low, high = start - spread, start + spread
    require(least <= low and high <= most, "start", start, f"{why}; choose another unit")
    rises = _steps(high, max(1.0, up), most)
    falls = _steps(low, min(1.0, down), least)
    require(rises >= 1, "up", up, f"{why}, in one step; choose a lower one")
    require(falls >= 1, "down", down, f"{why}, in one step; choose a higher one")
    longest = min(rises, falls)
    require(horizon <= longest, "horizon", horizon, f"{why}; choose at most {longest:.0f}")


def _steps(price: float, factor: float, limit: float) -> float:
    """How many times a price can be multiplied by a factor before it is past a limit."""
    return log(limit / price) / log(factor) // 1 if factor != 1 else inf
