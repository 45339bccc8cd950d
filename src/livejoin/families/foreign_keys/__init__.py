"""Foreign-key joins: rows linked along their keys, live ones counted (AJU)."""
