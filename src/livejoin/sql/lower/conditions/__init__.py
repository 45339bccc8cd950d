"""Conditions over the tables of a SELECT: which join, which are of one table, and what is left."""
