"""TPC-H at scale factor 0.01: the answers that DuckDB ships, and DuckDB again after the oldest rows went.

`tpchgen-cli` makes the data; where it is not installed (``pip install livejoin[tpch]``) this file is skipped. DuckDB's
own generator makes other addresses and comments than the specification: they are not compared, and no answer to
query 13 is here, which looks for words in comments.
"""

from __future__ import annotations

import csv
import runpy
import shutil
import subprocess
import sys
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import livejoin
from livejoin.sql import parse_schema, to_duckdb
from oracle import assert_same_rows, connect
from tpch_rows import FOLDER, QUERIES, schema, statements

MAKER = shutil.which("tpchgen-cli")
ANSWERS = Path(__file__).parents[1] / "fixtures" / "tpch_0.01"
CATALOG = parse_schema(schema(nullable=False))

pytestmark = pytest.mark.skipif(MAKER is None, reason="tpchgen-cli is not installed: pip install livejoin[tpch]")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tpch")
    subprocess.run([str(MAKER), "parquet", "-s", "0.01", "-o", str(folder)], check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def tables(folder: Path) -> dict[str, pa.Table]:
    return {table.name: pq.read_table(folder / f"{table.name}.parquet").cast(table.arrow) for table in CATALOG}


def _value(text: str) -> Any:
    if not text:
        return None
    try:
        return Decimal(text)
    except InvalidOperation:
        return text


def _same(found: Any, expected: Any) -> bool:
    if found is None or expected is None:
        return found is expected
    if isinstance(expected, str):
        return str(found) == expected
    return abs(Decimal(found) - expected) <= Decimal("1e-6") * max(1, abs(expected))  # averages: doubles in DuckDB


def test_answers_and_deletions(tables: dict[str, pa.Table]) -> None:
    """All 22 views in one database; rows of an order are compared in the order that the query asks for."""
    db = livejoin.Database()
    for statement in statements(schema(nullable=False)):
        db.execute(statement)
    for name, rows in tables.items():
        db.apply(name, rows.slice(0, rows.num_rows // 2))
    for name, sql in QUERIES.items():
        db.create_view(name, sql.rstrip().removesuffix(";"))
    db.apply({name: rows.slice(rows.num_rows // 2) for name, rows in tables.items()})
    for name in sorted(QUERIES.keys() - {"q13"}):
        with (ANSWERS / f"{name}.csv").open() as file:
            head, *lines = csv.reader(file, delimiter="|", quoting=csv.QUOTE_NONE)
        compared = [i for i, column in enumerate(head) if not column.endswith(("_address", "_comment"))]
        expected = [[_value(line[i]) for i in compared] for line in (line or [""] for line in lines)]
        columns = db.views[name].to_arrow().columns
        found = list(zip(*(columns[i].to_pylist() for i in compared), strict=True))
        assert len(found) == len(expected) > 0, name
        assert all(all(map(_same, *rows)) for rows in zip(found, expected, strict=True)), name
    _delete_the_oldest(db, tables)


def _delete_the_oldest(db: livejoin.Database, tables: dict[str, pa.Table]) -> None:
    """A fifth of all tables but nation and region goes, orphans included; DuckDB agrees."""
    some = {name: rows.slice(0, rows.num_rows // 5) for name, rows in tables.items() if rows.num_rows > 25}
    kinds = {name: pa.array(["delete"]).take(pa.array([0] * rows.num_rows)) for name, rows in some.items()}
    db.apply({name: rows.append_column("_change_type", kinds[name]) for name, rows in some.items()})
    connection: duckdb.DuckDBPyConnection = connect()
    for name, rows in tables.items():
        connection.register(name, rows.slice(some[name].num_rows if name in some else 0))
    for name, sql in QUERIES.items():
        expected = connection.sql(to_duckdb(sql.rstrip().removesuffix(";"), CATALOG)).to_arrow_table()
        assert_same_rows(db.views[name].to_arrow(), expected, name)


def test_the_example_runs(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["live.py", "--data", str(folder), "--queries", "1,13"]
    monkeypatch.setattr(sys, "argv", arguments)
    runpy.run_path(str(FOLDER / "live.py"), run_name="__main__")
    first, *refreshes, pricing, _ = capsys.readouterr().out.splitlines()
    assert first.startswith("load: ")
    refreshed = [line for line in refreshes if line.startswith("refresh")]
    assert len(refreshed) == 20
    assert all("q01 " in line for line in refreshed)
    assert pricing.startswith("  q01: 4 rows, ")
