"""The command line: its arguments and its terminal output."""
