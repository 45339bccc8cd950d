"""All 22 queries of TPC-H, kept up to date while orders come and go: ``python live.py --scale 0.01``; see README.md.

The data comes from tpchgen-cli. All but the last tenth of the orders is loaded; then come refreshes, as the benchmark's
RF1 and RF2: new orders with their lines, and the oldest orders with theirs leave. What changes in each result is shown.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import livejoin

HERE = Path(__file__).resolve().parent
REFRESHES = 20


def made(scale: float, folder: Path) -> dict[str, pa.Table]:
    """The tables, made into a folder where they are not there yet."""
    program = shutil.which("tpchgen-cli") or shutil.which("tpchgen-cli", path=str(Path(sys.executable).parent))
    if not (folder / "lineitem.parquet").exists():
        if program is None:
            sys.exit("tpchgen-cli is not installed: pip install 'livejoin[tpch]', or pip install tpchgen-cli")
        subprocess.run([program, "parquet", "-s", str(scale), "-o", str(folder)], check=True, capture_output=True)
    return {file.stem: _with_strings(pq.read_table(file)) for file in sorted(folder.glob("*.parquet"))}


def _with_strings(rows: pa.Table) -> pa.Table:
    """Rows whose strings are plain ones, not Arrow's views of strings, which its filters do not take."""
    plain = (field.with_type(pa.string()) if pa.types.is_string_view(field.type) else field for field in rows.schema)
    return rows.cast(pa.schema(plain))


def statements() -> Iterator[str]:
    """The statements of the schema."""
    text = re.sub("--.*", "", (HERE / "schema.sql").read_text())
    return (one.strip() for one in text.split(";") if one.strip())


def refreshes(tables: dict[str, pa.Table]) -> Iterator[dict[str, pa.Table]]:
    """What is loaded, then the refreshes: orders and lines that come, and as many of the oldest that go."""
    keys = tables["orders"]["o_orderkey"]
    tenth = len(keys) // 10
    first, size = len(keys) - tenth, max(1, tenth // REFRESHES)

    def of(begin: int, end: int, kind: str) -> dict[str, pa.Table]:
        some = keys.slice(begin, end - begin)
        rows = {
            "orders": tables["orders"].slice(begin, end - begin),
            "lineitem": tables["lineitem"].filter(pc.is_in(tables["lineitem"]["l_orderkey"], some.combine_chunks())),
        }
        return {
            name: one.append_column("_change_type", pa.repeat(pa.scalar(kind), one.num_rows))
            for name, one in rows.items()
        }

    yield tables | of(0, first, "insert")
    for begin in range(0, tenth - size + 1, size):
        come, go = of(first + begin, first + begin + size, "insert"), of(begin, begin + size, "delete")
        yield {name: pa.concat_tables([come[name], go[name]]) for name in come}


def main() -> None:
    """Declare, load, refresh, and say what changed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=0.01, help="of the data: 1 is a gigabyte (0.01)")
    parser.add_argument("--data", type=Path, help="where it is, or is made (out/tpch-SCALE)")
    parser.add_argument("--queries", default=",".join(map(str, range(1, 23))), help="by number, separated by commas")
    given = parser.parse_args()
    tables = made(given.scale, given.data or Path("out") / f"tpch-{given.scale}")
    db = livejoin.Database()
    for statement in statements():
        db.execute(statement)
    bounds = {}
    for number in given.queries.split(","):
        name = f"q{int(number):02}"
        sql = (HERE / "queries" / f"{name}.sql").read_text().rstrip().removesuffix(";")
        bounds[name] = db.create_view(name, sql).explain().guarantee.bound.formula
    changed, changes = dict.fromkeys(bounds, 0), 0
    for number, given_changes in enumerate(refreshes(tables)):
        start = time.perf_counter()
        commit = db.apply(given_changes)
        seconds = time.perf_counter() - start
        deltas = {name: commit[name].num_rows for name in bounds}
        if number:
            changes += commit.changes
            changed = {name: rows + deltas[name] for name, rows in changed.items()}
        told = ", ".join(f"{name} {rows:,}" for name, rows in deltas.items() if rows) or "nothing"
        print(
            f"{'refresh ' + str(number) if number else 'load'}: {commit.changes:,} changes in {seconds:.2f} s: {told}"
        )
    print(f"\nAfter {changes:,} changes:")
    for name, view in db.views.items():
        print(f"  {name}: {view.count():,} rows, {changed[name]:,} of its deltas; a change takes {bounds[name]}")


if __name__ == "__main__":
    main()
