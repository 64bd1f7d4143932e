"""fenchel's objectives for whoever trains on Gymnasium's environments by other means."""

from typing import TYPE_CHECKING, Any

from fenchel.gymnasium.risk import RiskWrapper

if TYPE_CHECKING:
    from fenchel.gymnasium.callback import RiskCallback

__all__ = ["RiskCallback", "RiskWrapper"]


def __getattr__(name: str) -> Any:
    """`RiskCallback` needs Stable-Baselines3, which is imported when somebody asks for it."""
    if name == "RiskCallback":
        from fenchel.gymnasium.callback import RiskCallback

        return RiskCallback
    raise AttributeError(f"module 'fenchel.gymnasium' has no attribute {name!r}")
