"""Gymnasium and fenchel: importing this registers the built-in environments with Gymnasium."""

from fenchel.gymnasium.environments import ExportedEnv
from fenchel.gymnasium.registry import register_all
from fenchel.gymnasium.vector import ExportedVectorEnv

__all__ = ["ExportedEnv", "ExportedVectorEnv", "register_all"]

register_all()
