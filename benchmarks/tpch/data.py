"""TPC-H's tables, schema and queries: those of ``examples/tpch``, with data of tpchgen-cli."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from livejoin.catalog import Catalog
from livejoin.schema import Table
from livejoin.sql import parse_schema

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "tpch"
FIXED = ("region", "nation")
"""Tables that no stream changes, or the results of most queries are empty (AJU, section 6.2)."""


class MissingDataError(Exception):
    """There is no data, and nothing that makes it."""


def queries() -> dict[str, str]:
    """The queries, ``q01`` to ``q22``."""
    return {file.stem: file.read_text().rstrip().removesuffix(";") for file in sorted(FOLDER.glob("queries/*.sql"))}


def catalog() -> Catalog:
    """The tables with their keys, each after those that it references."""
    return parse_schema((FOLDER / "schema.sql").read_text())


def statements(tables: Mapping[str, pa.Table], trusted: Container[str] = ()) -> list[str]:
    """The statements that make some tables with the columns that they have, without references to what is not there.

    Args:
        tables: The tables.
        trusted: The names of those that keep no rows.
    """
    found = []
    for table in catalog():
        if table.name in tables:
            there = tables[table.name].column_names
            parts = [str(column) for column in table.columns if column.name in there]
            parts.append(f"PRIMARY KEY ({', '.join(table.columns[place].name for place in table.primary_key)})")
            parts += _references(table, tables)
            options = " TBLPROPERTIES ('livejoin.deletes' = 'trusted')" if table.name in trusted else ""
            found.append(f"CREATE TABLE {table.name} ({', '.join(parts)}){options}")
    return found


def _references(table: Table, tables: Mapping[str, pa.Table]) -> Iterator[str]:
    """The foreign keys of a table whose columns are there, on both sides."""
    for key in table.foreign_keys:
        columns = [table.columns[place].name for place in key.columns]
        if key.table in tables and set(columns) <= set(tables[table.name].column_names):
            yield f"FOREIGN KEY ({', '.join(columns)}) REFERENCES {key.table} ({', '.join(key.references)})"


def used(tables: Mapping[str, pa.Table], texts: Iterable[str], columns: bool = False) -> dict[str, pa.Table]:
    """The tables that some queries name, with all columns or with the keys and the columns that the queries name."""
    words = {word for text in texts for word in re.findall(r"\w+", text)}
    found = {name: rows for name, rows in tables.items() if name in words}
    if not columns:
        return found
    keys = {table.columns[place].name for table in catalog() for place in table.primary_key}
    return {
        name: rows.select([one for one in rows.column_names if one in words | keys]) for name, rows in found.items()
    }


def load(scale: float, folder: Path | None, texts: Iterable[str] | None = None) -> Mapping[str, pa.Table]:
    """All tables; the data is made where it is not there.

    Args:
        scale: The scale factor: 1 is a gigabyte.
        folder: Where the Parquet files are, or are made; by default ``out/tpch-SCALE``.
        texts: Queries, if the columns that none of them names are not to be read.

    Raises:
        MissingDataError: The data is not there, and tpchgen-cli is not installed.
    """
    folder = folder or Path("out") / f"tpch-{scale:g}"
    if not (folder / "lineitem.parquet").exists():
        beside = str(Path(sys.executable).parent)
        program = shutil.which("tpchgen-cli") or shutil.which("tpchgen-cli", path=beside)
        if program is None:
            msg = f"{folder} has no data, and tpchgen-cli is not installed: pip install 'livejoin[tpch]'"
            raise MissingDataError(msg)
        made = [program, "parquet", "-s", f"{scale:g}", "-o", str(folder)]
        subprocess.run(made, check=True, capture_output=True)
    empty = {table.name: table.arrow.empty_table() for table in catalog()}
    wanted = empty if texts is None else used(empty, texts, columns=True)
    return {name: _read(folder / f"{name}.parquet", rows.schema) for name, rows in wanted.items()}


def _read(file: Path, schema: pa.Schema) -> pa.Table:
    return pq.read_table(file, columns=schema.names).cast(schema).combine_chunks()
