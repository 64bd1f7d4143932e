"""Gymnasium and fenchel: importing this registers the built-in environments with Gymnasium.

Beside them are fenchel's objectives for whoever trains on Gymnasium's environments by other means.
"""

from typing import TYPE_CHECKING, Any

from fenchel.gymnasium.environments import ExportedEnv
from fenchel.gymnasium.registry import register_all
from fenchel.gymnasium.risk import RiskWrapper
from fenchel.gymnasium.vector import ExportedVectorEnv

if TYPE_CHECKING:
    from fenchel.gymnasium.callback import RiskCallback

__all__ = ["ExportedEnv", "ExportedVectorEnv", "RiskCallback", "RiskWrapper", "register_all"]

register_all()


def __getattr__(name: str) -> Any:
    """`RiskCallback` needs Stable-Baselines3, which is imported when somebody asks for it."""
    if name == "RiskCallback":
        from fenchel.gymnasium.callback import RiskCallback

        return RiskCallback
    raise AttributeError(f"module 'fenchel.gymnasium' has no attribute {name!r}")
