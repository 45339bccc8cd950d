"""From the resolved syntax of a query to relations."""
