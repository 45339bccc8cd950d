"""Foreign-key plans (AJU): known to theory, explained, not run yet."""
