"""What comes in a stream, as changes: what is none of a table, what lacks values, and what other rows say of it."""
