"""Names in a query: what is in scope, which columns come out, in which order."""
