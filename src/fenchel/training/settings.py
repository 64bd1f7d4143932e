"""The settings, which live outside this room so that the command line can show them without JAX."""

from fenchel.settings import Settings

__all__ = ["Settings"]
