"""TPC-H's tables, schema and queries: those of ``examples/tpch``, with data of tpchgen-cli."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from livejoin.catalog import Catalog
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


def statements(used: Iterable[str]) -> list[str]:
    """The statements that make some tables, without references to others."""
    names, found = set(used), []
    others = "|".join(table.name for table in catalog() if table.name not in names)
    text = re.sub("--.*", "", (FOLDER / "schema.sql").read_text())
    if others:
        text = re.sub(rf",\s*FOREIGN KEY \([^)]*\) REFERENCES ({others}) \([^)]*\)", "", text)
        text = re.sub(rf" REFERENCES ({others}) \([^)]*\)", "", text)
    for statement in text.split(";"):
        made = re.search(r"CREATE TABLE (\w+)", statement)
        if made and made[1] in names:
            found.append(statement.strip())
    return found


def used_tables(texts: Iterable[str]) -> list[str]:
    """The tables that some queries name."""
    words = {word for text in texts for word in re.findall(r"\w+", text)}
    return [table.name for table in catalog() if table.name in words]


def load(scale: float, folder: Path | None) -> Mapping[str, pa.Table]:
    """All tables; the data is made where it is not there.

    Args:
        scale: The scale factor: 1 is a gigabyte.
        folder: Where the Parquet files are, or are made; by default ``out/tpch-SCALE``.

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
    return {
        table.name: pq.read_table(folder / f"{table.name}.parquet").cast(table.arrow).combine_chunks()
        for table in catalog()
    }
