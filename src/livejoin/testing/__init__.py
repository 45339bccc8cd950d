"""Tests of one's own views: tables as small texts, and the property that a view equals its query after any commits.

>>> from livejoin import Database
>>> db = Database(coerce="json")
>>> db.execute('''
...     CREATE TABLE orders (id BIGINT PRIMARY KEY, customer STRING, amount DECIMAL(10, 2));
...     CREATE VIEW totals AS SELECT customer, SUM(amount) AS total FROM orders GROUP BY customer
... ''')
>>> _ = given(
...     db,
...     orders='''
...     id | customer | amount
...     1  | Zoë      | 20.50
...     2  | Zoë      | 1
... ''',
... )
>>> expect(
...     db.views["totals"],
...     '''
...     customer | total
...     Zoë      | 21.50
... ''',
... )
"""

from livejoin.testing.generated import check_view
from livejoin.testing.tables import expect, given

__all__ = ["check_view", "expect", "given"]
