"""A query as a picture for somebody who knows SQL: tables, what is matched, and the steps above them."""
