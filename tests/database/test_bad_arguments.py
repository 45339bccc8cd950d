"""Arguments of wrong types and values: an error of the tree that says what is allowed, and nothing has changed."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import livejoin
from guarded import Guarded
from livejoin import errors

SQL = "SELECT src FROM G"
NOTHING: tuple[Any, ...] = (5, None, "")


class Nameless:
    """An object that cannot be shown."""

    def __repr__(self) -> str:
        msg = "no name"
        raise RuntimeError(msg)


class Keyless(UserDict[str, Any]):
    """A mapping without the values of its keys."""

    def __getitem__(self, key: str) -> Any:
        raise LookupError(key)


@pytest.fixture(scope="module")
def guarded() -> Guarded:
    """One for all tests, as none changes it."""
    return Guarded()


DATABASE: list[tuple[str, Callable[[Any], object], type[Exception], str]] = [
    *(
        (f"{what} {name!r}", lambda db, name=name, call=call: call(db, name), errors.SchemaError, "a text")
        for name in (5, None, "", " ", "a\0b")
        for what, call in (
            ("create_table", lambda db, name: db.create_table(name, "a INT")),
            ("create_view", lambda db, name: db.create_view(name, SQL)),
            ("drop_table", lambda db, name: db.drop_table(name)),
            ("drop_view", lambda db, name: db.drop_view(name)),
        )
    ),
    *(
        (
            f"columns {columns!r}",
            lambda db, columns=columns: db.create_table("T", columns),
            errors.SchemaError,
            "a text",
        )
        for columns in (5, None, ["a INT"])
    ),
    ("window_rows", lambda db: db.create_table("T", "a INT", window_rows="5"), errors.SchemaError, "a positive whole"),
    ("window_range", lambda db: db.create_table("T", "a INT", window_range=5), errors.SchemaError, "window_range"),
    ("static", lambda db: db.create_table("T", "a INT", static=1), errors.SchemaError, "True and False"),
    ("deltas", lambda db: db.create_view("w", SQL, deltas="no"), errors.SchemaError, "True and False"),
    ("adaptive", lambda db: db.create_view("w", SQL, adaptive=None), errors.SchemaError, "True and False"),
    ("algorithm", lambda db: db.create_view("w", SQL, algorithm=["crown"]), errors.SchemaError, "'crown'"),
    ("sql", lambda db: db.create_view("w", b"SELECT"), errors.SqlSyntaxError, "a text"),
    ("execute", lambda db: db.execute(None), errors.SqlSyntaxError, "a text"),
    *(
        (
            f"statistics {given!r}",
            lambda db, given=given: db.create_view("w", SQL, statistics=given),
            errors.SchemaError,
            "statistics|allowed",
        )
        for given in (
            5,
            [("G", 1)],
            {"G": 5},
            {5: {"rows": 1}},
            {"G": {"rows": "x"}},
            {"G": {"distinct": 5}},
            {"G": {"distinct": {5: 3}}},
            {"G": {"passing": 5}},
        )
    ),
    ("explain deltas", lambda db: db.explain(SQL, deltas="x"), errors.SchemaError, "True and False"),
    ("explain log", lambda db: db.explain(SQL, log={5: []}), errors.ChangeFormatError, "a mapping from names"),
    *(
        (
            f"apply {type(given).__name__}",
            lambda db, given=given: db.apply(given),
            errors.ChangeFormatError,
            "a mapping from names",
        )
        for given in (5, None, [("G", [(1, 2)])], {5: [(1, 2)]}, [(1, 2)], {1: []}, Nameless())
    ),
    ("apply keyless", lambda db: db.apply(Keyless(G=[])), errors.ChangeFormatError, "cannot be read: LookupError"),
    *(
        (
            f"replay {given!r}",
            lambda db, given=given: db.replay(given),
            errors.ChangeFormatError,
            "a mapping from names",
        )
        for given in (5, None, [], {5: []})
    ),
    ("on_conflict", lambda db: db.apply("G", [(1, 2)], on_conflict=["ignore"]), errors.ChangeFormatError, "'ignore'"),
    ("granularity", lambda db: db.replay({"G": []}, granularity=5), errors.ChangeFormatError, "'commit'"),
    *(
        (f"save {folder!r}", lambda db, folder=folder: db.save(folder), errors.StateError, "the path of one")
        for folder in (*NOTHING, "a\0b", "\ud800")
    ),
    *(
        (
            f"extra {extra!r}",
            lambda db, extra=extra: db.save("never", extra),
            errors.StateError,
            "a mapping from texts to JSON values",
        )
        for extra in (5, [1], {5: 1})
    ),
    *(
        (
            f"load {folder!r}",
            lambda _, folder=folder: livejoin.Database.load(folder),
            errors.StateError,
            "the path of one",
        )
        for folder in NOTHING
    ),
    *(
        (f"threads {n!r}", lambda _, n=n: livejoin.Database(threads=n), errors.SchemaError, "allowed are 1 to 1024")
        for n in ("2", 2.0, None, 0, True)
    ),
]
VIEW: list[tuple[str, Callable[[Any], object], str]] = [
    *(
        (f"batches {n!r}", lambda v, n=n: list(v.batches(n)), "a whole number from 1")
        for n in ("5", None, 2.5, True, 0)
    ),
    *((f"sample {n!r}", lambda v, n=n: v.sample(n), "a whole number from 0") for n in ("5", None, True, -1, 10**12)),
    *((f"seed {n!r}", lambda v, n=n: v.sample(5, seed=n), "a whole number from 0") for n in ("x", -1, 2.5, True)),
    *((f"at {n!r}", lambda v, n=n: v.at(n), "a position is an integer") for n in ("0", None, 0.0)),
    *((f"multiplicity {row!r}", lambda v, row=row: v.multiplicity(row), "row") for row in (5, None, "ab", {1, 2})),
    ("multiplicity of arrays", lambda v: v.multiplicity((np.array([1, 2]), 1)), "no value of the column 'src'"),
    ("multiplicity of the nameless", lambda v: v.multiplicity((Nameless(), 1)), "<Nameless> is no value of the column"),
    ("at the nameless", lambda v: v.at(Nameless()), "a position is an integer; found <Nameless>"),
    ("subscribe", lambda v: v.subscribe(5), "a function of one argument"),
]


@pytest.mark.parametrize(("call", "error", "message"), [case[1:] for case in DATABASE], ids=[c[0] for c in DATABASE])
def test_arguments_of_the_database(
    guarded: Guarded,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    call: Callable[[Any], object],
    error: type[Exception],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message):
        call(guarded.db)
    assert not list(tmp_path.iterdir())
    guarded.unchanged()


def test_arguments_of_a_view() -> None:
    database = livejoin.Database()
    database.create_table("G", "src BIGINT, dst BIGINT")
    view = database.create_view("v", "SELECT src, dst FROM G")
    commit = database.apply("G", [(1, 2)])
    for what, call, message in VIEW:
        with pytest.raises(errors.ReadError, match=message):
            call(view)
            pytest.fail(what)
    with pytest.raises(errors.ReadError, match="no delta of a view 5"):
        commit[5]  # type: ignore[index]
    for mapping in (database.views, database.tables):
        assert 5 not in mapping
        with pytest.raises(KeyError):
            mapping[None]  # type: ignore[index]
    assert view.sample(np.int64(3), seed=7).num_rows == 3


@pytest.mark.parametrize("name", ["select", "a b.c", "T`x", 'T"x', "T'x", "ünïcode", "1", "t" * 300, "a;b", "--"])
def test_names_of_any_printable_text(tmp_path: Path, name: str) -> None:
    """Tables, columns and views of odd names are made, read, saved and dropped."""
    quoted = "`" + name.replace("`", "``") + "`"
    database = livejoin.Database()
    database.create_table(name, f"{quoted} BIGINT, b BIGINT")
    database.create_view(
        "v" + name, f"SELECT {quoted}, COUNT(*) AS n FROM {quoted} WHERE {quoted} > 0 GROUP BY {quoted}"
    )
    database.execute(f"CREATE VIEW {quoted[:-1]} 2` AS SELECT x.{quoted} + 1 AS {quoted} FROM {quoted} x, {quoted} y")
    database.apply(name, [(1, 2), (1, 3), (-1, 2)])
    database.save(tmp_path)
    again = livejoin.Database.load(tmp_path)
    for kept in (database, again):
        assert kept.views["v" + name].to_arrow().to_pylist() == [{name: 1, "n": 2}]
        assert kept.views[name + " 2"].count() == 9
        with pytest.raises(errors.SchemaError) as caught:
            kept.drop_table(name)
        assert repr("v" + name) in str(caught.value)
        kept.drop_view("v" + name)
        kept.drop_view(name + " 2")
        kept.drop_table(name)
        assert not kept.tables


class Full(UserDict[str, Any]):
    """A mapping for whose values there is no memory."""

    def __getitem__(self, key: str) -> Any:
        raise MemoryError


def test_a_lack_of_memory_is_not_called_a_wrong_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    db = livejoin.Database()
    db.create_table("T", "s STRING, n BIGINT")
    view = db.create_view("v", "SELECT s, n FROM T")
    with pytest.raises(MemoryError):
        db.apply(Full({"T": [("a", 1)]}))

    def fails(*_: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr("livejoin.changes.convert._build", fails)
        with pytest.raises(MemoryError):
            db.apply("T", [("a", np.int64(1))])  # which needs a conversion
    assert view.count() == db.version == 0
    db.apply("T", [("a", 1)])
    assert view.count() == 1
