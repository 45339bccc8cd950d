"""The memory that a view is expected to take, by block and in total."""
