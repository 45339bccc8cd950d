"""What the declaration of a table says of its rows, beside keys: expressions that are evaluated when rows come."""
