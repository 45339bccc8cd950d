"""Rounds of a campaign over files: CSV to Parquet, where every file of checkpoint and output may be damaged."""

from __future__ import annotations

import random
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from stream_child import TO_ITS_END
from stream_rounds import (
    W_TABLE,
    W_VIEWS,
    Fault,
    Rows,
    check_w,
    differences,
    failed,
    killed,
    results,
    to_its_end,
    write_w,
)
from stream_worker import Workers

from livejoin.checkpoint.states import kept_state, rows_at
from livejoin.distributed.states import parts_of
from livejoin.spark.sinks.part_names import parts_in

FILES, ROWS, WINDOW, NODES = 36, 20, 150, 10
STEP = 3  # batches of a run that no fault ends
VIEWS = {
    "hop2": "SELECT A.src AS a, A.dst AS b, B.dst AS c FROM G A JOIN G B ON A.dst = B.src",
    "towns": "SELECT town, COUNT(*) AS n, SUM(age) AS age FROM P GROUP BY town",
    "total": "SELECT COUNT(*) AS n FROM G",
    "lonely": "SELECT P.id, P.town FROM P LEFT ANTI JOIN G ON P.id = G.src",
    "known": "SELECT P.town, N.name FROM P LEFT JOIN N ON P.id = N.k",
    "oldest": "SELECT id, age FROM P ORDER BY age DESC, id LIMIT 3",
    "tagged": "SELECT P.id, S.tag, N.name FROM P JOIN S ON P.id = S.k JOIN N ON N.k = S.n",
}
TYPES = {"G": "src BIGINT, dst BIGINT", "P": 'id INT, age INT, town VARCHAR, "at" INT', "N": "k INT, name VARCHAR"}
TYPES["S"] = "k INT, n INT, tag VARCHAR"


def make(folder: Path, dice: random.Random, run: str) -> dict[str, list[tuple[Any, ...]]]:
    """Write the pipeline and its input; the rows that are left of each table. ``run`` says more of how it runs."""
    for table in "GPNW":
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
        write_w(folder, number, dice)
    names = [(dice.randrange(NODES), dice.choice("xyz")) for _ in range(8)]
    (folder / "N" / "0.csv").write_text("".join(f"{k},{name}\n" for k, name in names))
    views = "".join(f'[views.{name}]\nsql = "{sql}"\n' for name, sql in (VIEWS | W_VIEWS).items())
    (folder / "p.toml").write_text(
        '[tables.G]\nschema = "_seq BIGINT, src BIGINT, dst BIGINT"\nformat = "csv"\npath = "G"\narrival = "by-name"\n'
        f"options = {{ maxFilesPerTrigger = 1 }}\nwindow_rows = {WINDOW}\n"
        '[tables.P]\nschema = "id INT, age INT, town STRING, at INT, _change_type STRING, PRIMARY KEY (id)"\n'
        'format = "csv"\npath = "P"\nfeed = "change-feed"\nsequence_by = "at"\narrival = "by-name"\n'
        "options = { maxFilesPerTrigger = 1 }\n"
        f"{W_TABLE}"
        '[tables.N]\nschema = "k INT, name STRING"\nformat = "csv"\npath = "N"\nappend_only = true\n'
        '[tables.S]\nschema = "k INT PRIMARY KEY, n INT, tag STRING"\nformat = "csv"\npath = "S.csv"\nstatic = true\n'
        f'{views}[sink]\nkind = "parquet"\npath = "out"\n[run]\ncheckpoint = "checkpoint"\n{run}\n'
    )
    left = [row for row in people.values() if row is not None]
    return {"G": edges[-WINDOW:], "P": left, "N": names, "S": redrawn(folder, dice)}


def redrawn(folder: Path, dice: random.Random) -> list[tuple[Any, ...]]:
    """Write other rows of the static table; these rows."""
    rows = [(k, dice.randrange(NODES), dice.choice("uvw")) for k in dice.sample(range(NODES), dice.randrange(2, NODES))]
    (folder / ".S.csv").write_text("".join(f"{k},{n},{tag}\n" for k, n, tag in rows))
    (folder / ".S.csv").replace(folder / "S.csv")
    return rows


class Files:
    """A round; mutable."""

    faults = ("driver", "driver", "JVM", "file", "file", "full disk", "failing sink")

    def __init__(self, folder: Path, dice: random.Random, run: str = "recovery_seconds = 0.05") -> None:
        self._folder = folder
        self._dice = dice
        self._pipeline = folder / "p.toml"
        self._left = make(folder, dice, run)

    def fault(self, what: str, workers: Workers) -> list[Fault]:
        """Let something happen; what came of it."""
        self._redraw()
        match what:
            case "driver" | "JVM":
                return [killed(workers, self._pipeline, self._dice, what)]
            case "file":
                return [self._damage(workers)]
            case _:
                says = ("No space left", "Input/output error")
                return [failed(workers, self._pipeline, what, self._dice, says)]

    def _redraw(self) -> None:
        """Sometimes the static table has other rows at the next start."""
        if self._dice.random() < 0.4:
            self._left["S"] = redrawn(self._folder, self._dice)

    def _damage(self, workers: Workers) -> Fault:
        """Damage a file, start, and put the file back."""
        folder, dice = self._folder, self._dice
        found = [path for path in (folder / "checkpoint" / "livejoin").rglob("*") if path.is_file()]
        found = [path for path in found if path.stat().st_size]
        found += list((folder / "out").rglob("part-*.parquet"))
        if not found:
            return Fault("file", hit=False, told="no file yet")
        file = self._damaged(sorted(found))
        kept, data = file.read_bytes(), bytearray(file.read_bytes())
        how = dice.choice(["gone", "cut", "flipped"])
        if file.suffix == ".parquet":
            how = dice.choice(["gone", "cut"])  # the rows of the output are not read again
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
        workers.one.begin(self._pipeline, batches=STEP)
        end = workers.one.alive(workers.one.end())
        if end["failed"]:
            assert file.name in end["said"] or file.parent.name in end["said"], (file, how, end["said"])
            # Nothing was done since: the state is what it was, and the file comes back.
            for part in ("checkpoint", "out"):
                shutil.rmtree(folder / part)
                shutil.copytree(backup / part, folder / part)
            file.write_bytes(kept)
        elif how != "gone" and file.exists() and file.read_bytes() == data:
            file.write_bytes(kept)  # it was not looked at
        said = str(end["said"]).replace(f"{folder}/", "")[:160]
        what = f"file {how}, told" if end["failed"] else f"file {how}, not needed"
        is_over = end["said"] == TO_ITS_END  # maybe there was no batch to read it for
        return Fault(what, not is_over, f"{file.relative_to(folder)}: {said}", is_over)

    def _damaged(self, found: list[Path]) -> Path:
        """The file that is to be damaged."""
        return self._dice.choice(found)

    def finish(self, workers: Workers) -> None:
        """Run it to its end; the sum of each view's output is its result.

        There is a batch more in any case, since what differs of the static table comes with one.
        """
        (self._folder / "G" / f"{FILES:02}.csv").write_text(f"{FILES * ROWS},0,0\n")
        self._left["G"] = [*self._left["G"], (0, 0)][-WINDOW:]
        to_its_end(workers, self._pipeline)
        found = {view: self._sum(view) for view in (*VIEWS, *W_VIEWS)}
        check_w(found["held"], FILES)
        tables: dict[str, Any] = {name: (TYPES[name], rows) for name, rows in self._left.items()}
        expected = results(VIEWS, tables) | results(W_VIEWS, {"W": ("id INT, b INT", found["held"].elements())})
        assert not differences(found, expected), differences(found, expected)

    def check_rows(self) -> int:
        """Read some views from the checkpoint as it lies there; how many were compared with their outputs."""
        folder = self._folder / "checkpoint" / "livejoin"
        done = [int(file.stem) for file in folder.rglob("*.done")]
        if not done:
            return 0
        views = self._dice.sample([*VIEWS, *W_VIEWS], 3)
        for view in views:
            if (folder / "log").is_dir():
                state = kept_state(folder, None)
                assert state.batch == max(done)
                batches = list(rows_at(state, view))
            else:
                parts, _ = parts_of(folder, view, max(done))
                batches = [batch for part in parts for batch in part.rows()]
            found = Counter(tuple(row.values()) for batch in batches for row in batch.to_pylist())
            assert found == self._sum(view, max(done)), (view, found, self._sum(view, max(done)))
        return len(views)

    def _sum(self, view: str, until: int = sys.maxsize) -> Rows:
        """What the output of a view adds up to, to a batch."""
        total: Rows = Counter()
        place = self._folder / "out" / view
        names = [name for batch, names in sorted(parts_in(place).items()) if batch <= until for name in names]
        for file in (place / name for name in names):
            for *values, kind, _version, _time in (tuple(row.values()) for row in pq.read_table(file).to_pylist()):
                total[tuple(values)] += 1 if kind in ("insert", "update_postimage") else -1
        return Counter({row: count for row, count in total.items() if count})
