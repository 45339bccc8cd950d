"""The deltas of views as a commit gives them: tables in memory, or rows in files."""
