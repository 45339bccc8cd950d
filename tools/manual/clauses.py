"""Queries that show what a query may have, for the page of clauses."""

from __future__ import annotations

from datetime import date

TABLES = {
    "customers": ("id BIGINT, name STRING, city STRING", [(1, "Ada", "Bern"), (2, "Bob", "Rome"), (3, "Cy", None)]),
    "orders": (
        "id BIGINT, customer BIGINT, day DATE, amount BIGINT",
        [
            (10, 1, date(2024, 1, 1), 20),
            (11, 1, date(2024, 1, 2), 5),
            (12, 2, date(2024, 1, 2), 20),
            (13, None, date(2024, 1, 3), 7),
        ],
    ),
}
"""Columns and rows of each table."""

CLAUSES: dict[str, tuple[tuple[str, str], ...]] = {
    "SELECT": (
        ("Columns and expressions, with names.", "SELECT id, amount * 2 AS twice FROM orders WHERE id < 12"),
        ("`*` gives all columns, `EXCEPT` leaves some out.", "SELECT * EXCEPT (city) FROM customers"),
        ("`DISTINCT` gives each row once.", "SELECT DISTINCT amount FROM orders"),
        (
            "`DISTINCT ON` gives the first row of each group.",
            "SELECT DISTINCT ON (customer) customer, id FROM orders ORDER BY customer, amount DESC, id",
        ),
        ("A query needs no table.", "SELECT 1 + 1 AS two"),
    ),
    "FROM and JOIN": (
        (
            "`JOIN ... ON` gives each pair of rows that fit.",
            "SELECT o.id, c.name FROM orders o JOIN customers c ON c.id = o.customer",
        ),
        (
            "`LEFT JOIN` also keeps the rows of the left table that have no partner.",
            "SELECT c.name, o.id FROM customers c LEFT JOIN orders o ON c.id = o.customer",
        ),
        (
            "`FULL JOIN` keeps all rows of both tables.",
            "SELECT c.name, o.id FROM customers c FULL JOIN orders o ON c.id = o.customer",
        ),
        (
            "`RIGHT JOIN` keeps all rows of the right table.",
            "SELECT c.name, o.id FROM customers c RIGHT JOIN orders o ON c.id = o.customer",
        ),
        (
            "`SEMI JOIN` keeps the rows of the left table that have a partner, once each.",
            "SELECT c.name FROM customers c SEMI JOIN orders o ON c.id = o.customer",
        ),
        (
            "`ANTI JOIN` keeps those that have none.",
            "SELECT c.name FROM customers c ANTI JOIN orders o ON c.id = o.customer",
        ),
        (
            "`ASOF JOIN` gives each row the last row of another table that is in front of it, by `>=`, `>`, `<=` or "
            "`<` and any equalities. With LEFT behind ASOF it also keeps rows that have none. Of rows at the same "
            "place the last one by all columns counts. The comparison may stand in MATCH_CONDITION (...) before ON.",
            "SELECT o.id, o.amount, l.size FROM orders o "
            "ASOF JOIN (SELECT * FROM VALUES (0, 'small'), (7, 'large') AS v(least, size)) l ON o.amount >= l.least",
        ),
        (
            "`USING` joins on columns of the same name and gives them once.",
            "SELECT id, amount, city FROM orders JOIN (SELECT id AS customer, city FROM customers) c USING (customer)",
        ),
        (
            "`NATURAL JOIN` takes all columns of the same name.",
            "SELECT id, city FROM orders NATURAL JOIN (SELECT id AS customer, city FROM customers) c",
        ),
        (
            "A comma and `WHERE` are a join, too.",
            "SELECT o.id, c.name FROM orders o, customers c WHERE c.id = o.customer AND o.amount > 5",
        ),
        (
            "`LATERAL` lets a query in FROM read what stands before it.",
            "SELECT c.name, o.id FROM customers c, LATERAL (SELECT id FROM orders WHERE customer = c.id) o",
        ),
        ("`VALUES` gives rows without a table.", "SELECT * FROM VALUES (1, 'one'), (2, 'two') AS v(n, word)"),
    ),
    "WHERE": (
        (
            "`WHERE` keeps the rows for which a condition is true.",
            "SELECT id FROM orders WHERE amount > 5 AND customer = 1",
        ),
        (
            "`EXISTS` asks whether a sub-query has a row.",
            "SELECT name FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id AND amount > 5)",
        ),
        (
            "`IN` and `NOT IN` look into a sub-query.",
            "SELECT name FROM customers WHERE id NOT IN (SELECT customer FROM orders WHERE customer IS NOT NULL)",
        ),
        (
            "A sub-query of one value stands in a comparison.",
            "SELECT id FROM orders WHERE amount > (SELECT AVG(amount) FROM orders)",
        ),
    ),
    "GROUP BY and HAVING": (
        (
            "`GROUP BY` makes a row of each group.",
            "SELECT customer, COUNT(*) AS orders, SUM(amount) AS total FROM orders GROUP BY customer",
        ),
        (
            "`GROUP BY ALL` groups by all that is no aggregate.",
            "SELECT day, SUM(amount) AS total FROM orders GROUP BY ALL",
        ),
        (
            "`HAVING` keeps groups.",
            "SELECT customer, SUM(amount) AS total FROM orders GROUP BY customer HAVING SUM(amount) > 10",
        ),
        (
            "`ROLLUP` adds a total of all.",
            "SELECT day, SUM(amount) AS total FROM orders GROUP BY ROLLUP (day)",
        ),
        (
            "`CUBE` groups by each part of the columns.",
            "SELECT customer, day, COUNT(*) AS n FROM orders WHERE id < 12 GROUP BY CUBE (customer, day)",
        ),
        (
            "`GROUPING SETS` names the combinations.",
            "SELECT customer, day, COUNT(*) AS n FROM orders GROUP BY GROUPING SETS ((customer), (day))",
        ),
        (
            "`FILTER` restricts one aggregate.",
            "SELECT COUNT(*) AS n, COUNT(*) FILTER (WHERE amount > 5) AS large FROM orders",
        ),
    ),
    "Windows": (
        (
            "`QUALIFY` is a condition on window functions: here the largest order of each customer.",
            "SELECT id, customer FROM orders "
            "QUALIFY ROW_NUMBER() OVER (PARTITION BY customer ORDER BY amount DESC, id) = 1",
        ),
        (
            "`WINDOW` gives a window a name.",
            "SELECT id, SUM(amount) OVER w AS so_far FROM orders WINDOW w AS (ORDER BY id)",
        ),
    ),
    "PIVOT": (
        (
            "`PIVOT` makes columns of values.",
            "SELECT * FROM (SELECT customer, day, amount FROM orders) "
            "PIVOT (SUM(amount) FOR day IN (DATE '2024-01-01' AS first, DATE '2024-01-02' AS second))",
        ),
        (
            "`UNPIVOT` makes rows of columns.",
            "SELECT * FROM (SELECT id, amount, amount * 2 AS twice FROM orders WHERE id < 12) "
            "UNPIVOT (value FOR which IN (amount, twice))",
        ),
    ),
    "ORDER BY and LIMIT": (
        ("`LIMIT` keeps the first rows of an order.", "SELECT id, amount FROM orders ORDER BY amount DESC, id LIMIT 2"),
        ("`OFFSET` leaves rows out before.", "SELECT id FROM orders ORDER BY id LIMIT 2 OFFSET 1"),
        (
            "`ORDER BY` alone sorts what is read.",
            "SELECT name FROM customers ORDER BY name DESC",
        ),
    ),
    "Sets": (
        (
            "`UNION` gives each row of both once.",
            "SELECT customer FROM orders UNION SELECT id FROM customers",
        ),
        (
            "`UNION ALL` keeps copies.",
            "SELECT amount FROM orders WHERE id < 12 UNION ALL SELECT amount FROM orders WHERE id = 10",
        ),
        ("`EXCEPT` takes rows away.", "SELECT id FROM customers EXCEPT SELECT customer FROM orders"),
        ("`INTERSECT` gives what both have.", "SELECT id FROM customers INTERSECT SELECT customer FROM orders"),
    ),
    "WITH": (
        (
            "`WITH` names a query that stands in front.",
            "WITH totals AS (SELECT customer, SUM(amount) AS total FROM orders GROUP BY customer) "
            "SELECT name, total FROM customers JOIN totals ON id = customer",
        ),
    ),
}
"""By topic: what a clause does, and a query that has it."""
