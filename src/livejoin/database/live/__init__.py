"""Live cells: the first rows of a view in a notebook, which change in place as commits come."""
