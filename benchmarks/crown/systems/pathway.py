"""Pathway, with an interpreter that has it: ``python -m benchmarks.crown.systems.pathway FOLDER``.

The changes are in the engine's memory before the clock starts, a logical time for each commit: it starts when the graph
of operators is built, which includes that Python hands every row over. The run that is timed throws its deltas away; a
second one writes them to a file, which is checked. Each point is a run from the start, as the number of changes that
have gone through cannot be seen from outside.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

os.environ["PATHWAY_THREADS"] = "1"

import pathway as pw
from pathway.internals.graph_runner import GraphRunner

from benchmarks.crown.job import SEQUENCE, SIGN, Clock, Job, Shape, forget_peak, peak_bytes, read_changes, say

WARM = 2_000


def main(folder: Path) -> None:
    """Run the job of a folder."""
    job = Job.read(folder)
    changes = {name: _frame(read_changes(folder, name).to_pandas(), job.commit) for name in job.tables}
    _run(job, changes, min(WARM, job.events), Clock(), None)
    say(ready=True, bytes=forget_peak())
    for point in job.points:
        clock = Clock()
        _run(job, changes, point, clock, None)
        used = peak_bytes()
        written = folder / f"pathway-{point}.csv"
        _run(job, changes, point, Clock(), written)
        say(point=point, seconds=clock.seconds, wall=clock.wall, bytes=used, csv=str(written))


def _frame(changes: Any, commit: int) -> Any:
    """Changes with Pathway's own columns; a row that leaves is the one that came first."""
    inserted = changes[SIGN] > 0
    changes["number"] = inserted.groupby(inserted).cumcount()
    changes["__time__"] = changes[SEQUENCE] // max(1, commit) * 2
    return changes.rename(columns={SIGN: "__diff__"}).set_index("number")


def _run(job: Job, changes: dict[str, Any], point: int, clock: Clock, written: Path | None) -> None:
    pw.internals.parse_graph.G.clear()
    tables = {}
    for name, frame in changes.items():
        part = frame[frame[SEQUENCE] < point].drop(columns=SEQUENCE)
        missing = {column for column in job.tables[name] if frame[column].isna().any()}
        part = part.astype({column: "Int64" for column in missing if job.tables[name][column] == "BIGINT"})
        types = {column: int if type_ == "BIGINT" else str for column, type_ in job.tables[name].items()}
        schema = pw.schema_from_types(**{c: t | None if c in missing else t for c, t in types.items()})
        tables[name] = pw.debug.table_from_pandas(part, schema=schema)
    result = build(job.shape, tables)
    if written is None:
        pw.io.null.write(result)
    else:
        pw.io.csv.write(result, written)
    runner = GraphRunner(pw.internals.parse_graph.G, monitoring_level=pw.MonitoringLevel.NONE)  # as pw.run has it
    runner.run_outputs(after_build=lambda *_: clock.start())
    clock.stop()


def build(shape: Shape, tables: dict[str, Any]) -> Any:
    """The query as Pathway's operators: joins from left to right, filters first, columns only as long as needed."""
    asked = {*shape.output, *(shape.different or ()), shape.counted}
    joined = None
    for number, atom in enumerate(shape.atoms):
        table = tables[atom.table].copy()
        if atom.keep is not None:
            column, modulus, rest = atom.keep
            table = table.filter(table[column] % modulus == rest)
        if atom.null is not None:
            table = table.filter(table[atom.null].is_none())
        table = table.select(**{variable: table[column] for column, variable in atom.columns.items()})
        if joined is None:
            joined = table
            continue
        known, here = set(joined.column_names()), set(table.column_names())
        equal = [joined[v] == table[v] for v in sorted(known & here)]
        later = {v for other in shape.atoms[number + 1 :] for v in other.columns.values()} | asked
        left = {v: joined[v] for v in known & later}
        right = {v: table[v] for v in (here - known) & later}
        joined = joined.join(table, *equal).select(**left, **right)
    assert joined is not None
    if shape.different is not None:
        joined = joined.filter(joined[shape.different[0]] != joined[shape.different[1]])
    groups = [joined[v] for v in shape.output]
    if shape.distinct:
        return joined.groupby(*groups).reduce(*groups)
    if shape.counted == "*":
        return joined.groupby(*groups).reduce(*groups, n=pw.reducers.count())
    if shape.counted:
        columns = [*groups, joined[shape.counted]]
        single = joined.groupby(*columns).reduce(*columns)
        groups = [single[v] for v in shape.output]
        return single.groupby(*groups).reduce(*groups, n=pw.reducers.count())
    return joined.select(*groups)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
