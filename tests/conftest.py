"""64-bit, strict rank promotion, warnings are errors: settings shared by every test."""

import jax

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_rank_promotion", "raise")
