"""The command `fenchel`: a thin module per subcommand."""
