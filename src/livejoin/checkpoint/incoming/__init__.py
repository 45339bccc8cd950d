"""From rows of a stream to changes: rows that are no changes, rows that lack values, rows that refer to other rows."""
