"""Static tables: what a change costs beside them, and what they cost (ICDT 2025)."""
