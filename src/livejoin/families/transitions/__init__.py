"""Transition systems: results by the set of dynamic rows that matter, for queries in C_exp (ICDT 2025, section 6)."""
