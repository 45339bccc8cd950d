"""Writes the 99 queries of TPC-DS, its schema and its data to a folder, from DuckDB's extension `tpcds`.

    python tools/tpcds.py FOLDER                  # FOLDER/queries/q01.sql to q99.sql, FOLDER/schema.sql
    python tools/tpcds.py FOLDER --scale 0.01     # and FOLDER/data/TABLE.parquet

The texts are derived from templates of the TPC, which has terms of its own for them, so they do not lie in this
project; `python -m benchmarks tpcds FOLDER` reads them. The extension is on PyPI for one version of DuckDB, which is
another one than this project's: the first call makes a virtual environment for both in FOLDER/environment.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import venv
from pathlib import Path

_DUCKDB = "1.5.5"
_INSIDE = """
import pathlib, sys
import duckdb, duckdb_extension_tpcds
folder, scale = pathlib.Path(sys.argv[1]), float(sys.argv[2])
(folder / "queries").mkdir(parents=True, exist_ok=True)
with duckdb.connect() as connection:
    (extension,) = pathlib.Path(duckdb_extension_tpcds.__file__).parent.rglob("tpcds.duckdb_extension")
    connection.execute(f"LOAD '{extension}'")
    for number, text in connection.execute("SELECT query_nr, query FROM tpcds_queries()").fetchall():
        (folder / "queries" / f"q{number:02}.sql").write_text(text)
    connection.execute("CALL dsdgen(sf = ?)", [scale])
    made = connection.execute("SELECT table_name, sql FROM duckdb_tables() ORDER BY table_name").fetchall()
    (folder / "schema.sql").write_text("\\n".join(sql for _, sql in made) + "\\n")
    if scale:
        (folder / "data").mkdir(exist_ok=True)
        for name, _ in made:
            connection.execute(f"COPY {name} TO '{folder / 'data' / name}.parquet' (FORMAT parquet)")
"""


def main() -> int:
    """Write all that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--scale", type=float, default=0, help="of the data: 1 is a gigabyte; 0 writes none (0)")
    options = parser.parse_args()
    environment = options.folder / "environment"
    python = environment / "bin" / "python"
    if not python.exists():
        venv.create(environment, with_pip=True)
    packages = [f"duckdb=={_DUCKDB}", f"duckdb-extension-tpcds=={_DUCKDB}"]
    subprocess.run([python, "-m", "pip", "install", "-q", *packages], check=True)
    return subprocess.run([python, "-c", _INSIDE, options.folder, str(options.scale)], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
