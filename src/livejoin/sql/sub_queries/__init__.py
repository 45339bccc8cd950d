"""Sub-queries in expressions become parts of the SELECT around them, so that the planner sees one join."""
