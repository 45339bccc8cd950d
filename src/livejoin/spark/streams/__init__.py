"""Spark's frames of changes: what each says of its table, how they travel in one stream, where that stands."""
