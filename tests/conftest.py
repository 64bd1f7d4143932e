"""64-bit, strict rank promotion, warnings are errors: settings shared by every test."""

import os

import jax
from hypothesis import settings

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_rank_promotion", "raise")

settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")
