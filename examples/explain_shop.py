"""Draws docs/explain.svg: customers, their orders and the lines of these, with what is known of the tables.

Run it from the root of the repository: python examples/explain_shop.py docs/explain.svg
"""

from __future__ import annotations

import sys
from pathlib import Path

import livejoin

TABLES = """
    CREATE TABLE customers (id BIGINT PRIMARY KEY, name STRING, country STRING);
    CREATE TABLE countries (code STRING PRIMARY KEY, region STRING) TBLPROPERTIES ('livejoin.static' = 'true');
    CREATE TABLE orders (id BIGINT PRIMARY KEY, customer BIGINT, day DATE);
    CREATE TABLE lines (order_id BIGINT, product BIGINT, price BIGINT);
"""
QUERY = """
    SELECT c.name, n.region, SUM(l.price) AS total
      FROM customers c
      JOIN countries n ON c.country = n.code
      JOIN orders o ON o.customer = c.id
      JOIN lines l ON l.order_id = o.id
     GROUP BY c.name, n.region
    HAVING SUM(l.price) > 1000
     ORDER BY total DESC
     LIMIT 10
"""
KNOWN = {
    "customers": {"rows": 1000, "distinct": {"id": 1000, "country": 50}},
    "countries": {"rows": 50, "distinct": {"code": 50}},
    "orders": {"rows": 20_000, "distinct": {"id": 20_000, "customer": 1000}},
    "lines": {"rows": 80_000, "distinct": {"order_id": 20_000}},
}


def picture() -> str:
    """The picture as SVG."""
    db = livejoin.Database()
    db.execute(TABLES)
    return db.explain(QUERY, statistics=KNOWN).svg()


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(picture(), encoding="utf-8")
