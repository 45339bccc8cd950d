"""``livejoin init``: a small project that runs."""

from __future__ import annotations

from pathlib import Path

from livejoin.errors import StorageError

_SCHEMA = """\
-- What is kept, and what is live. The server runs this once, where its folder is new.

CREATE TABLE customers (id BIGINT PRIMARY KEY, city STRING);
CREATE TABLE orders (id BIGINT PRIMARY KEY, customer BIGINT, amount DECIMAL(10, 2));

CREATE VIEW sales AS
    SELECT c.city, COUNT(*) AS orders, SUM(o.amount) AS total
    FROM orders o JOIN customers c ON o.customer = c.id
    GROUP BY c.city
"""

_SERVER = """\
# livejoin serve server.toml; all keys: livejoin docs server

folder = "data"        # each commit is on the disk when its answer comes
sql = "schema.sql"
port = 8000
"""

_CHANGES = """\
{"customers": [{"id": 1, "city": "Bern"}, {"id": 2, "city": "Rome"}],
 "orders": [{"id": 10, "customer": 1, "amount": "20.50"}, {"id": 11, "customer": 2, "amount": "7.00"}]}
"""

_README = """\
# A shop whose sales are live

    pip install 'livejoin[serve]'
    livejoin check server.toml
    livejoin serve server.toml

In another terminal:

    curl -N localhost:8000/v1/views/sales/changes       # all rows, then each change, as it happens

And in a third one:

    curl localhost:8000/v1/commit -H 'Content-Type: application/json' -d @changes.json
    curl localhost:8000/v1/execute -H 'Content-Type: application/json' \\
         -d '{"sql": "UPDATE orders SET amount = 30 WHERE id = 10"}'

`http://localhost:8000/` shows it in a browser. Change `schema.sql` before the first start, or later by SQL.
"""

_PIPELINE = '''\
# livejoin run pipeline.toml; all keys: livejoin docs pipeline-file

[tables.customers]
schema = "id BIGINT PRIMARY KEY, city STRING"
format = "json"
path = "customers"
options = { maxFilesPerTrigger = 1 } # files of one batch have no order

[tables.orders]
schema = "id BIGINT PRIMARY KEY, customer BIGINT, amount DECIMAL(10, 2), op STRING"
format = "json"
path = "orders"
feed = "upsert"                      # a new row replaces the row with its key
apply_as_deletes = "op = 'delete'"
options = { maxFilesPerTrigger = 1 }

[views.sales]
sql = """
SELECT c.city, COUNT(*) AS orders, SUM(o.amount) AS total
FROM orders o JOIN customers c ON o.customer = c.id
GROUP BY c.city
"""

[sink]
kind = "console"                     # or parquet, postgres, delta, kafka

[run]
checkpoint = "state"                 # a run that was stopped goes on from there
trigger = "available-now"            # or an interval, as "2 seconds": it goes on until Ctrl-C
'''

_CUSTOMERS = """\
{"id": 1, "city": "Bern"}
{"id": 2, "city": "Rome"}
"""

_ORDERS = """\
{"id": 10, "customer": 1, "amount": "20.50"}
{"id": 11, "customer": 2, "amount": "7.00"}
"""

_PIPELINE_README = """\
# A shop whose sales are live, on Spark

    pip install 'livejoin[spark]'        # and Java 17 or newer; without one also: pip install 'livejoin[java]'
    livejoin check pipeline.toml
    livejoin run pipeline.toml

That shows the sales of two cities. Then let an order change, and one go; only what differs is shown:

    echo '{"id": 10, "customer": 1, "amount": "30.00"}' > orders/2.json
    echo '{"id": 11, "op": "delete"}' >> orders/2.json
    livejoin run pipeline.toml

Each file is a batch, and Spark reads files in the order of their times, not of their names.

`livejoin run pipeline.toml --fresh` begins anew.
"""

_SERVED = {"schema.sql": _SCHEMA, "server.toml": _SERVER, "changes.json": _CHANGES, "README.md": _README}
_ON_SPARK = {
    "pipeline.toml": _PIPELINE,
    "customers/1.json": _CUSTOMERS,
    "orders/1.json": _ORDERS,
    "README.md": _PIPELINE_README,
}
KINDS = {"server": _SERVED, "pipeline": _ON_SPARK}
"""The files of each kind of project: one of ``livejoin serve``, one of ``livejoin run`` on Spark."""


def init(folder: Path, kind: str = "server") -> tuple[str, ...]:
    """Write a small project into a folder, which is made if it is missing; the names of the files.

    Args:
        folder: The folder.
        kind: A name in `KINDS`.

    Raises:
        StorageError: A file is there already, or cannot be written; nothing is written over.
    """
    files = KINDS[kind]
    there = [name for name in files if (folder / name).exists()]
    if there:
        msg = f"{str(folder)!r} has {', '.join(there)} already, and nothing is written over; give another folder"
        raise StorageError(msg)
    try:
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        msg = f"a project cannot be written to {str(folder)!r}: {error.strerror or error}"
        raise StorageError(msg) from error
    return tuple(files)
