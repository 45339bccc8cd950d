"""Texts of livejoin beside texts of DuckDB that mean the same, over two tables ``t`` and ``u`` that change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import duckdb

import livejoin

Row = tuple[Any, ...]
Commit = tuple[list[Row], list[Row], int]
"""Rows that come to ``t`` and to ``u``, and how many of the oldest rows of ``t`` go."""


def rows_of(view: livejoin.View) -> Counter[Row]:
    """The rows of a view."""
    return Counter(tuple(row) for row in zip(*(column.to_pylist() for column in view.to_arrow().columns), strict=True))


def check_commits(
    db: livejoin.Database, pairs: Sequence[tuple[str, str]], declared: Sequence[str], commits: Sequence[Commit]
) -> None:
    """Make the first text of each pair a view, and compare it with the second one after every commit.

    Args:
        db: A database with the two tables, which are empty.
        pairs: The texts.
        declared: The CREATE TABLE of both tables, for DuckDB.
        commits: What happens.
    """
    views = [db.create_view(f"v{i}", sql) for i, (sql, _) in enumerate(pairs)]
    names = [column.name for column in db.tables["t"].columns]
    there: list[Row] = []
    of_u: list[Row] = []
    for t, u, gone in commits:
        leaves = there[:gone]
        db.apply("t", [dict(zip(names, row, strict=True)) | {"_change_type": "delete"} for row in leaves])
        db.apply("t", t)
        db.apply("u", u)
        there, of_u = [*there[gone:], *t], [*of_u, *u]
        with duckdb.connect() as connection:
            for statement in declared:
                connection.execute(statement)
            for table, rows in (("t", there), ("u", of_u)):
                if rows:
                    marks = ", ".join("?" * len(rows[0]))
                    connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
            for view, (sql, own) in zip(views, pairs, strict=True):
                assert rows_of(view) == Counter(connection.execute(own).fetchall()), sql
    db._check()
