"""From the syntax of a query to relations."""
