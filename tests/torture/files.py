"""Damaged and made-up snapshots.

Law: `Database.load` of any files at all gives an error of livejoin, or a database of which every invariant holds and
every view is DuckDB's recomputation over its tables; of a snapshot that is only damaged it gives the one that was saved
or an error. A sum beyond its type, which no commit would have let in, is an error of livejoin when the view is read.
Where a row is made up to be there a great many times, the views may take as many times as long, so that such a load is
cut off after a while: it must not crash.
"""

from __future__ import annotations

import json
import random
import signal
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import livejoin
from livejoin.database.snapshots import snapshot
from livejoin.errors import CapacityError, LivejoinError, StateError, StorageError
from livejoin.query.bound_query import Query
from livejoin.sql import bind_query, to_duckdb
from livejoin.words import NULL_CODE, WIDE_BASE
from oracle import connect, multiset
from torture.file_faults import KINDS, Views, failing, results

Files = dict[str, bytes]

_OFTEN = 1000
_SECONDS = 2.0
_ODD_WORDS = (0, 1, -1, 2, 3, 7, 1 << 31, 1 << 32, WIDE_BASE, WIDE_BASE + 1, (1 << 63) - 1, -(1 << 63), NULL_CODE)
_ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 3, 1 << 40, 1 << 63, -(1 << 63), 10**400, 0.5, 1e308, float("nan"), float("inf")),
    *(
        "",
        "x",
        "../x",
        "G",
        "hop2",
        "crown",
        "SELECT 1",
        "SELECT src FROM G",
        "integer",
        [],
        [0],
        [[0]],
        {},
        {"value": -1},
    ),
)


def packed(folder: Path) -> Files:
    """The files of a snapshot, named from the folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def unpack(content: Mapping[str, bytes], folder: Path) -> None:
    for name, data in content.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def recomputed(db: livejoin.Database) -> Views:
    """Every view by DuckDB, over the rows that the tables have."""
    connection = connect()
    catalog = db._contents.catalog
    for table in catalog:
        base = db._contents.tables[table.name.lower()]
        ids, weights = base.live_rows()
        words = base.values_of(np.repeat(ids, weights))
        columns = [db._contents.codec.decode(line, c.type) for line, c in zip(words, table.columns, strict=True)]
        rows = pa.table(columns, names=[column.name for column in table.columns])
        connection.register("given", rows)
        connection.execute(f'CREATE TABLE "{table.name}" AS FROM given')
        connection.unregister("given")
    found: Views = {}
    queries: dict[str, Query] = {}
    for name, view in db.views.items():
        connection.execute(f'CREATE VIEW "{name}" AS {to_duckdb(view.sql, catalog, queries)}')
        queries[name.lower()] = bind_query(view.sql, catalog, queries)
        found[name] = multiset(connection.sql(f'FROM "{name}"').to_arrow_table())
    return found


@dataclass(frozen=True)
class Damage:
    """Files that are not what was saved.

    Args:
        told: What was done to them.
        files: The files.
        made_up: Whether the checksums fit, so that another content may be what was saved.
    """

    told: str
    files: Files
    made_up: bool


Change = Callable[[Files, random.Random], Damage]


def damaged(content: Files, rng: random.Random) -> Damage:
    """One of the files is truncated, longer, other in some bits, empty, another file, or not there."""
    names = sorted(content)
    name, other = rng.choice(names), rng.choice(names)
    data = content[name]
    place = rng.randrange(max(1, len(data)))
    match rng.choice(["cut", "longer", "bits", "empty", "gone", "swapped", "copied", "block"]):
        case "cut":
            changed = {name: data[:place]}
        case "longer":
            changed = {name: data + rng.randbytes(rng.randint(1, 64))}
        case "bits":
            bits = bytearray(data)
            for _ in range(rng.choice([1, 1, 3, 50])):
                if bits:
                    bits[rng.randrange(len(bits))] ^= 1 << rng.randrange(8)
            changed = {name: bytes(bits)}
        case "empty":
            changed = {name: b""}
        case "gone":
            return Damage(f"{name} is gone", {one: content[one] for one in names if one != name}, made_up=False)
        case "swapped":
            changed = {name: content[other], other: data}
        case "copied":
            changed = {name: content[other]}
        case _:
            block = (place // 4096) * 4096
            changed = {name: data[:block] + bytes(min(4096, len(data) - block)) + data[block + 4096 :]}
    return Damage(f"{sorted(changed)} changed", {**content, **changed}, made_up=False)


def made_up(content: Files, rng: random.Random) -> Damage:
    """Words of arrays or values of the manifest are others, and all checksums fit."""
    folder, _ = content["CURRENT"].decode().split()
    manifest = json.loads(content[f"{folder}/manifest.json"])
    changed = dict(content)
    told = []
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        arrays = [
            *((f"codec.{key}", entry) for key, entry in _entries(manifest, "codec")),
            *(
                (f"{part}{i}.{key}", entry)
                for part, kept in (("table", "tables"), ("block", "blocks"))
                for i, one in enumerate(manifest[kept] if isinstance(manifest.get(kept), list) else ())
                for key, entry in _entries(one, "arrays")
            ),
        ]
        arrays = [(name, entry) for name, entry in arrays if f"{folder}/{name}.bin" in changed]
        if arrays and rng.random() < 0.6:
            name, entry = rng.choice(arrays)
            told.append(_other_words(changed, f"{folder}/{name}.bin", entry, rng))
        else:
            told.append(_other_value(manifest, rng))
    text = json.dumps(manifest).encode()
    changed[f"{folder}/manifest.json"] = text
    changed["CURRENT"] = f"{folder} {zlib.crc32(text)}".encode()
    return Damage("; ".join(told), changed, made_up=True)


def _entries(entry: object, key: str) -> list[tuple[str, dict[str, Any]]]:
    """The arrays that a part of the manifest names, if it still does."""
    named = entry.get(key) if isinstance(entry, dict) else None
    pairs = named.items() if isinstance(named, dict) else ()
    return [(name, one) for name, one in pairs if isinstance(one, dict)]


def _other_words(changed: Files, name: str, entry: dict[str, Any], rng: random.Random) -> str:
    """Some items of an array are others, or it is shorter; its shape in the manifest and its checksum fit."""
    kind = np.dtype({"|u1": np.uint8, "<i4": np.int32}.get(str(entry.get("type")), np.int64))
    data = changed[name]
    items = np.frombuffer(data[: len(data) // kind.itemsize * kind.itemsize], kind).copy()
    places = [rng.randrange(items.size) for _ in range(rng.choice([1, 1, 2, 8]))] if items.size else []
    what = rng.choice(["odd", "random", "near", "copy", "shorter", "same"])
    for place in places:
        match what:
            case "odd":
                items[place] = np.int64(rng.choice(_ODD_WORDS)).astype(kind)
            case "random":
                items[place] = np.int64(rng.getrandbits(63) >> rng.randrange(63)).astype(kind)
            case "near":
                items[place] = (items[place].astype(np.int64) + rng.choice([-2, -1, 1, 2])).astype(kind)
            case "copy":
                items[place] = items[rng.randrange(items.size)]
            case "same":
                items[:] = items[place]
    if what == "shorter" and items.size:
        items = items[: rng.randrange(items.size)]
        entry["shape"] = [items.size]
    changed[name] = items.tobytes()
    entry["crc32"] = zlib.crc32(changed[name])
    return f"{name}: {what} at {places}"


def _other_value(manifest: Any, rng: random.Random) -> str:
    """One value of the manifest, at any depth, is another one, or gone, or there twice."""
    places = list(_places(manifest, ()))
    path, holder, key = rng.choice(places)
    if rng.random() < 0.2:
        del holder[key]
        return f"manifest{list(path)} is gone"
    if isinstance(holder, list) and rng.random() < 0.3:
        holder.append(holder[key])
        return f"manifest{list(path)} is there twice"
    _, other, where = rng.choice(places)
    try:
        value = json.loads(json.dumps(other[where])) if rng.random() < 0.3 else rng.choice(_ODD_VALUES)
    except (KeyError, IndexError, TypeError):  # it went with what was changed
        value = None
    holder[key] = value
    return f"manifest{list(path)} is {value!r:.60}"


def _places(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any, Any]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(pairs):
        yield (*path, key), value, key
        yield from _places(inner, (*path, key))


class _TimeIsUp(BaseException):
    """Raised by a signal."""


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """Cut off what is inside, as Ctrl-C would."""

    inside = True

    def cut_off(*_: object) -> None:
        if inside:
            raise _TimeIsUp

    before = signal.signal(signal.SIGUSR1, cut_off)
    timer = threading.Timer(seconds, signal.pthread_kill, (threading.get_ident(), signal.SIGUSR1))
    timer.start()
    try:
        with suppress(_TimeIsUp):
            yield
        inside = False
        timer.cancel()
        timer.join()
    finally:
        signal.signal(signal.SIGUSR1, before)


def _most_often(folder: Path) -> int:
    """How often a row is there at most, in the tables of a snapshot."""
    try:
        tables = snapshot.read(folder, trusted=False).tables
    except LivejoinError:
        return 0
    return max((int(rows.weights.max(initial=0)) for _, rows in tables), default=0)


def check_load(damage: Damage, saved: Views, folder: Path, go_on: Callable[[livejoin.Database], object]) -> str:
    """Load damaged files, and assert the law; ``refused``, ``loaded``, or that a row is there very often.

    Args:
        damage: The files.
        saved: The views of the database that was saved.
        folder: An empty one to load from.
        go_on: Changes the database in a way that reaches its views, or raises an error of livejoin.
    """
    unpack(damage.files, folder)
    if damage.made_up and _most_often(folder) > _OFTEN:
        with _at_most(_SECONDS), suppress(StateError):
            livejoin.Database.load(folder)
        return "a row very often"
    outcome = "refused"
    for trusted in (False,) if damage.made_up else (False, True):
        try:
            db = livejoin.Database.load(folder, trusted=trusted)
        except (StateError, StorageError):
            continue
        outcome = "loaded"
        db._check()
        try:
            found = results(db)
        except CapacityError:
            assert damage.made_up
            outcome = "a sum beyond its type"
            continue
        assert found == (recomputed(db) if damage.made_up else saved), "what was loaded"
        try:
            go_on(db)
        except LivejoinError:
            assert damage.made_up
        db._check()
        assert results(db) == recomputed(db), "after more commits"
    _check_next_save(folder)
    return outcome


def _check_next_save(folder: Path) -> None:
    """Over whatever lies there another database is saved, and comes back."""
    other = livejoin.Database()
    other.create_table("T", "a BIGINT")
    other.apply("T", [(1,)])
    with failing(-1, KINDS[0]):
        other.save(folder)
    assert livejoin.Database.load(folder).stats()["tables"]["T"]["rows"] == 1
    assert sum(path.is_dir() for path in folder.iterdir()) == 1
