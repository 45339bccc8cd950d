"""A session as far as `livejoin.spark.sinks.table` needs one, whose tables are DuckDB's, which knows MERGE too."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

import duckdb
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql.pandas.types import from_arrow_schema

_PROPERTIES = re.compile(r"ALTER TABLE (\S+) SET TBLPROPERTIES \((.*)\)")
_INSTANT = re.compile(r"\btimestamp\b")
_PAIR = re.compile(r"'([^']*)' = '([^']*)'")


class SqlSession:
    """Tables with properties; mutable.

    Attributes:
        fails: How many statements that change something may run until the system dies; None for ever. It dies before
            the statement and, one later, behind it.
        knows_merge: Whether tables can be merged into.
    """

    def __init__(self) -> None:
        self.connection = duckdb.connect()
        self.properties: dict[str, dict[str, str]] = {}
        self.fails: int | None = None
        self.knows_merge = True
        self.catalog = self

    def sql(self, text: str) -> Any:
        if text.startswith("EXPLAIN"):
            return _Rows(
                [("a plan" if self.knows_merge else "Error occurred during query planning: \nno MERGE here.",)]
            )
        if text.startswith("SHOW TBLPROPERTIES"):
            return _Rows(list(self.properties.get(text.rsplit(maxsplit=1)[-1], {}).items()))
        if text.startswith("SELECT"):
            return _Rows(self.rows(text))
        self._tick()
        if found := _PROPERTIES.fullmatch(text):
            self.properties.setdefault(found[1], {}).update(_PAIR.findall(found[2]))
        else:
            self.connection.execute(_INSTANT.sub("TIMESTAMPTZ", text).replace("`", '"'))
        self._tick()
        return _Rows([])

    def rows(self, text: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(text.replace("`", '"')).fetchall()

    def tableExists(self, table: str) -> bool:
        with suppress(duckdb.CatalogException):
            self.rows(f"FROM {table} LIMIT 0")
            return True
        return False

    def table(self, table: str) -> Any:
        return _Frame(self, self.connection.sql(f"FROM {table}".replace("`", '"')).to_arrow_table())

    def createDataFrame(self, rows: pa.Table, _types: Any) -> Any:
        return _Frame(self, rows)

    def dropTempView(self, name: str) -> None:
        self.connection.unregister(name)

    def _tick(self) -> None:
        if self.fails is not None:
            self.fails -= 1
            if self.fails < 0:
                raise PySparkException("the catalog is gone")


class _Frame:
    def __init__(self, session: SqlSession, rows: pa.Table) -> None:
        self._session = session
        self._rows = rows
        self.schema = from_arrow_schema(rows.schema, prefer_timestamp_ntz=True)

    def createOrReplaceTempView(self, name: str) -> None:
        self._session.connection.register(name, self._rows)


class _Rows:
    def __init__(self, rows: list[tuple[Any, ...]]) -> None:
        self._rows = rows

    def collect(self) -> list[tuple[Any, ...]]:
        return self._rows
