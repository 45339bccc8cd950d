"""Foreign-key joins whose rows are linked along their keys (AJU)."""
