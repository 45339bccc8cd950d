"""The blocks of the graph: each maintains a derived relation from others."""
