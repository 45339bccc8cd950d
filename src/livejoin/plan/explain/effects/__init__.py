"""What one change of each table does: the rows that it meets, and the rows of the result that it changes."""
