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

_FILES = {"schema.sql": _SCHEMA, "server.toml": _SERVER, "changes.json": _CHANGES, "README.md": _README}


def init(folder: Path) -> tuple[str, ...]:
    """Write a small project into a folder, which is made if it is missing; the names of the files.

    Raises:
        StorageError: A file is there already, or cannot be written; nothing is written over.
    """
    there = [name for name in _FILES if (folder / name).exists()]
    if there:
        msg = f"{str(folder)!r} has {', '.join(there)} already; give another folder, nothing is written over"
        raise StorageError(msg)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in _FILES.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        msg = f"a project cannot be written to {str(folder)!r}: {error.strerror or error}"
        raise StorageError(msg) from error
    return tuple(_FILES)
