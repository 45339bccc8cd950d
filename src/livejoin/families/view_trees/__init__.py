"""View trees of safe rewritings (ICDT 2025): known to theory, explained, not run yet."""
