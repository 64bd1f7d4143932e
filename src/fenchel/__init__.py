"""fenchel."""
