"""Faults of a pipeline on Spark at random moments: ``python tests/torture/stream_campaign.py FAULTS [SEED]``.

A pipeline over tables with a window, with keys and with rows that stay runs until a fault ends it, is started again,
and so on to its end: the process or its JVM is killed, a file is cut, spoilt or taken away, the disk is full, the sink
fails. A damaged file has to be an error that names it; it is put back then. At the end of each round the sum of each
view's output has to be its result over the rows that are left, by DuckDB.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq

FILES, ROWS, WINDOW, NODES = 36, 20, 150, 10
FAULTS = 10  # of a round
STEP = 3  # batches of a run that no fault ends
VIEWS = {
    "hop2": "SELECT A.src AS a, A.dst AS b, B.dst AS c FROM G A JOIN G B ON A.dst = B.src",
    "towns": "SELECT town, COUNT(*) AS n, SUM(age) AS age FROM P GROUP BY town",
    "total": "SELECT COUNT(*) AS n FROM G",
    "lonely": "SELECT P.id, P.town FROM P LEFT ANTI JOIN G ON P.id = G.src",
    "known": "SELECT P.town, N.name FROM P LEFT JOIN N ON P.id = N.k",
    "oldest": "SELECT id, age FROM P ORDER BY age DESC, id LIMIT 3",
}
CHILD = """
import errno, os, sys
from livejoin.pipeline import load, run
from livejoin.state import files
from livejoin.spark.sinks import ParquetSink
what, count = sys.argv[2], int(sys.argv[3])
left = [count]
def passes():
    left[0] -= 1
    return left[0] != 0
if what == "full disk":
    system = files.system
    def refuse(function, *arguments, **named):
        if function is os.write and not passes():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return system(function, *arguments, **named)
    files.system = refuse
if what == "failing sink":
    deliver = ParquetSink._deliver
    def fail(self, view, delta, batch_id):
        if not passes():
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return deliver(self, view, delta, batch_id)
    ParquetSink._deliver = fail
steps = [int(sys.argv[4])]
def stop(report):
    steps[0] -= 1
    if not steps[0]:
        print("enough", flush=True)
        os._exit(0)
try:
    run(load(sys.argv[1]), stop, lambda: print("up", flush=True))
except Exception as error:
    print(f"{type(error).__name__}: {error}", flush=True)
    os._exit(3)
os._exit(0)
"""


def make(folder: Path, dice: random.Random) -> dict[str, list[tuple[Any, ...]]]:
    """Write the pipeline and its input; the rows that are left of each table."""
    for table in "GPN":
        (folder / table).mkdir(parents=True)
    edges = [(dice.randrange(NODES), dice.randrange(NODES)) for _ in range(FILES * ROWS)]
    people: dict[int, tuple[int, int, str, int] | None] = {}
    newest: dict[int, int] = {}
    for number in range(FILES):
        part = list(enumerate(edges[number * ROWS : (number + 1) * ROWS], number * ROWS))
        (folder / "G" / f"{number:02}.csv").write_text("".join(f"{seq},{a},{b}\n" for seq, (a, b) in part))
        changes = []
        for _ in range(12):
            one, at = dice.randrange(NODES), dice.randrange(1000)
            kind = dice.choice(["upsert", "upsert", "delete"])
            row = (one, dice.randrange(90), dice.choice(["Bern", "Rom"]), at)
            changes.append((*row, kind))
            if at > newest.get(one, -1):
                newest[one] = at
                people[one] = row if kind == "upsert" else None
            elif at == newest[one]:
                people[one] = row if kind == "upsert" else None
        text = "".join(",".join(map(str, change)) + "\n" for change in changes)
        (folder / "P" / f"{number:02}.csv").write_text(text)
    names = [(dice.randrange(NODES), dice.choice("xyz")) for _ in range(8)]
    (folder / "N" / "0.csv").write_text("".join(f"{k},{name}\n" for k, name in names))
    views = "".join(f'[views.{name}]\nsql = "{sql}"\n' for name, sql in VIEWS.items())
    (folder / "p.toml").write_text(
        '[tables.G]\nschema = "_seq BIGINT, src BIGINT, dst BIGINT"\nformat = "csv"\npath = "G"\narrival = "by-name"\n'
        f"options = {{ maxFilesPerTrigger = 1 }}\nwindow_rows = {WINDOW}\n"
        '[tables.P]\nschema = "id INT, age INT, town STRING, at INT, _change_type STRING, PRIMARY KEY (id)"\n'
        'format = "csv"\npath = "P"\nfeed = "change-feed"\nsequence_by = "at"\narrival = "by-name"\n'
        "options = { maxFilesPerTrigger = 1 }\n"
        '[tables.N]\nschema = "k INT, name STRING"\nformat = "csv"\npath = "N"\n'
        f'{views}[sink]\nkind = "parquet"\npath = "out"\n[run]\ncheckpoint = "checkpoint"\nrecovery_seconds = 0.05\n'
    )
    left = [row for row in people.values() if row is not None]
    return {"G": edges[-WINDOW:], "P": left, "N": names}


def start(folder: Path, what: str = "nothing", count: int = 0, steps: int = STEP) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", CHILD, str(folder / "p.toml"), what, str(count), str(steps)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    said, _ = process.communicate(timeout=300)
    return process.returncode, said


def kill(folder: Path, dice: random.Random, of_jvm: bool) -> str:
    """Kill the process or its JVM some time after the query is up."""
    process = start(folder, steps=0)
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(dice.random() * 3)
    if process.poll() is not None:
        return "ended before"
    victim = process.pid
    if of_jvm:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        children += [
            c for task in Path(f"/proc/{process.pid}/task").iterdir() for c in (task / "children").read_text().split()
        ]
        found = [int(c) for c in children if "java" in Path(f"/proc/{c}/comm").read_text()]
        if not found:
            process.kill()
            finish(process)
            return "no JVM found"
        victim = found[0]
    os.kill(victim, signal.SIGKILL)
    code, said = finish(process)
    assert code != 0 or not of_jvm or "ended" in said or code == 0, said
    return f"exit {code}"


def damage(folder: Path, dice: random.Random) -> str:
    """Damage a file, start, and put the file back; what happened."""
    found = [path for path in (folder / "checkpoint" / "livejoin").rglob("*") if path.is_file() and path.stat().st_size]
    found += list((folder / "out").rglob("part-*.parquet"))
    if not found:
        return "no file yet"
    file = dice.choice(sorted(found))
    kept, data = file.read_bytes(), bytearray(file.read_bytes())
    how = dice.choice(["gone", "cut", "flipped"])
    is_output = file.suffix == ".parquet"
    if is_output:
        how = "gone"  # the content of the output is not read again
    if how == "gone":
        file.unlink()
    elif how == "cut":
        file.write_bytes(data[: dice.randrange(len(data))])
    else:
        data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
        file.write_bytes(data)
    backup = folder / "backup"
    shutil.rmtree(backup, ignore_errors=True)
    for part in ("checkpoint", "out"):
        shutil.copytree(folder / part, backup / part)
    code, said = finish(start(folder))
    told = said.splitlines()[-1][:160] if said.strip() else ""
    if code == 3:
        assert file.name in said or file.parent.name in said, (file, how, said)
        # Nothing was done since: the state is what it was, and the file comes back.
        for part in ("checkpoint", "out"):
            shutil.rmtree(folder / part)
            shutil.copytree(backup / part, folder / part)
        file.write_bytes(kept)
    else:
        assert code == 0, (file, how, code, said)
    return f"{how} {file.relative_to(folder)}: exit {code} {told}"


def check(folder: Path, left: dict[str, list[tuple[Any, ...]]]) -> None:
    """The sum of each view's output is its result."""
    types = {"G": "src BIGINT, dst BIGINT", "P": 'id INT, age INT, town VARCHAR, "at" INT', "N": "k INT, name VARCHAR"}
    with duckdb.connect() as connection:
        for name, rows in left.items():
            connection.execute(f"CREATE TABLE {name} ({types[name]})")
            if rows:
                marks = ", ".join("?" * len(rows[0]))
                connection.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
        for view, sql in VIEWS.items():
            expected = Counter(connection.execute(sql.replace("LEFT ANTI JOIN", "ANTI JOIN")).fetchall())
            total: Counter[Any] = Counter()
            for file in sorted((folder / "out" / view).glob("*.parquet")):
                for *values, kind, _version, _time in (tuple(row.values()) for row in pq.read_table(file).to_pylist()):
                    total[tuple(values)] += 1 if kind in ("insert", "update_postimage") else -1
            found = Counter({row: count for row, count in total.items() if count})
            assert found == expected, (view, found - expected, expected - found)


def main(faults: int, seed: int) -> None:
    dice = random.Random(seed)
    done: Counter[str] = Counter()
    while done.total() < faults:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            left = make(folder, dice)
            for _ in range(FAULTS):
                what = dice.choice(["driver", "driver", "JVM", "file", "file", "full disk", "failing sink"])
                match what:
                    case "driver" | "JVM":
                        told = kill(folder, dice, what == "JVM")
                    case "file":
                        told = damage(folder, dice)
                    case _:
                        code, said = finish(start(folder, what, dice.randrange(1, 30)))
                        assert code in (0, 3), (what, said)
                        assert code == 0 or "No space left" in said or "Input/output error" in said, said
                        told = f"exit {code}"
                done[what] += 1
                print(f"{done.total()}: {what}: {told}", flush=True)
            code, said = finish(start(folder, steps=0))
            assert code == 0, said
            check(folder, left)
            print("the output is right", flush=True)
    print(dict(done))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
