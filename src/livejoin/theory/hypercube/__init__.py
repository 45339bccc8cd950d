"""HyperCube: one round of sending rows to cells, so that each joined combination of rows meets in one cell."""
