"""The command line: arguments and what the terminal shows."""
