"""Calls of a database in which one allocation fails, each in turn.

What livejoin's Python allocates it allocates by functions of NumPy: arenas, tables, dictionaries and their indexes when
they grow, buffers of output, columns on their way; or it asks the system for more of a range of addresses, in which
arenas, tables and dictionaries grow in place. `Scarce` stands before all of these functions, in all of livejoin's
modules at once. Arenas grow by little in it, so that they grow in each phase of a call, and what grows lies in a range
however small it is. The law: the error is MemoryError, everything is as it was before the call, and the same call then
does what it always does.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest

import livejoin
from livejoin.kernels.memory.layout import H_END
from livejoin.state import reserved
from livejoin.state.arena import Arena
from oracle import multiset
from scenario import Row
from torture.interrupts import NEVER, Life, places

_LITTLE = 64
_ROWS = 30
MADE = "SELECT A.dst AS b, COUNT(*) AS n, MIN(P.name) AS m FROM G A JOIN P ON A.src = P.id GROUP BY A.dst"

State = tuple[int, dict[str, int], dict[str, Counter[Row]]]


class Scarce:
    """A context in which an allocation fails, or in which allocations are counted.

    Args:
        at: Which one, from 1; none where it is beyond the last one.

    Attributes:
        made: How many there were so far.
        has_failed: Whether it has failed.
    """

    def __init__(self, at: int = NEVER) -> None:
        self.made = 0
        self.has_failed = False
        self._at = at
        self._patch = pytest.MonkeyPatch()

    def __enter__(self) -> Scarce:
        numpy = ModuleType("numpy")
        for name, found in vars(np).items():
            is_function = isinstance(found, (FunctionType, BuiltinFunctionType)) or type(found) is type(np.concatenate)
            setattr(numpy, name, self._failing(found) if is_function else found)
        for name, module in list(sys.modules.items()):
            is_ours = name.startswith("livejoin.") and not name.startswith("livejoin.kernels.")
            if is_ours and getattr(module, "np", None) is np:
                self._patch.setattr(module, "np", numpy)
        self._patch.setattr(Arena, "double", _double)
        self._patch.setattr(reserved, "LEAST", 1)
        self._patch.setattr(reserved._Range, "open", self._failing(reserved._Range.open))
        return self

    def __exit__(self, *_: object) -> None:
        self._patch.undo()

    def _failing(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            self.made += 1
            if self.made == self._at:
                self.has_failed = True
                raise MemoryError
            return function(*arguments, **named)

        return call


def _double(arena: Arena) -> None:
    size = arena.words.shape[0]
    arena.words = reserved.grown(arena.words, size + _LITTLE)
    arena.words[H_END] = size + _LITTLE


def state(db: livejoin.Database) -> State:
    """Version, rows of the tables, and results of a database of which all invariants hold."""
    db._check()
    rows = {name: table["rows"] for name, table in db.stats()["tables"].items()}
    return db.version, rows, {name: multiset(view.to_arrow()) for name, view in db.views.items()}


class Scene:
    """A snapshot, a commit over it, and what is right before and behind it, as DuckDB says.

    Args:
        folder: Where the snapshot is kept.
        seed: Of its content.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        life = Life(seed)
        for _ in range(2):
            given, after = life.changes(_ROWS)
            life.db.apply(given)
            life.rows |= after
        life.check()
        life.db.save(folder)
        self.folder = folder
        self.before = state(life.db)
        self.given, after = life.changes(_ROWS)
        life.db.apply(self.given)
        life.rows |= after
        life.check()
        self.after = state(life.db)

    def load(self) -> livejoin.Database:
        """The database before the commit."""
        return livejoin.Database.load(self.folder, trusted=True)


Check = Callable[[Scene, Scarce], None]


def _commit(scene: Scene, scarce: Scarce) -> None:
    db = scene.load()
    _fails(scarce, lambda: db.apply(scene.given))
    if db.version == scene.before[0]:
        assert state(db) == scene.before, "a commit that does not stand"
        db.apply(scene.given)
    assert state(db) == scene.after


def _load(scene: Scene, scarce: Scarce) -> None:
    _fails(scarce, lambda: livejoin.Database.load(scene.folder))
    assert state(livejoin.Database.load(scene.folder)) == scene.before


def _save(scene: Scene, scarce: Scarce) -> None:
    folder = scene.folder.with_name("saved")
    db = scene.load()
    db.save(folder)
    db.apply(scene.given)
    _fails(scarce, lambda: db.save(folder))
    assert state(livejoin.Database.load(folder, trusted=True)) in (scene.before, scene.after)
    assert state(db) == scene.after


def _read(scene: Scene, scarce: Scarce) -> None:
    db = scene.load()

    def read() -> None:
        for view in db.views.values():
            view.to_arrow()
            if view.count():
                view.at(view.count() // 2)

    _fails(scarce, read)
    assert state(db) == scene.before


def _view(scene: Scene, scarce: Scarce) -> None:
    db = scene.load()
    _fails(scarce, lambda: db.create_view("made", MADE))
    if "made" not in db.views:
        assert state(db) == scene.before
        db.create_view("made", MADE)
    made = multiset(db.views["made"].to_arrow())
    other = livejoin.Database.load(scene.folder)
    other.create_view("made", MADE)
    assert made == multiset(other.views["made"].to_arrow())
    db.apply(scene.given)
    db.drop_view("made")
    assert state(db) == scene.after


KINDS: dict[str, Check] = {"commit": _commit, "load": _load, "save": _save, "read": _read, "view": _view}


def _fails(scarce: Scarce, call: Callable[[], object]) -> None:
    """Make a call; it raises MemoryError if an allocation has failed, and only then."""
    try:
        with scarce:
            call()
    except MemoryError:
        assert scarce.has_failed
    else:
        assert not scarce.has_failed, "the call ended as if it had got its memory"


def run(kind: str, cases: int, seed: int, folder: Path) -> Counter[str]:
    """Let one allocation of a call fail, for so many of its allocations, and assert the law.

    Args:
        kind: Of `KINDS`.
        cases: How many; at least as many as there are: each.
        seed: Of the content and of which allocations.
        folder: An empty one.

    Returns:
        How many allocations the call makes and how many failed.
    """
    scene = Scene(folder / "scene", seed)
    check = KINDS[kind]
    counted = Scarce()
    check(scene, counted)
    kinds = Counter({"allocations": counted.made})
    for at in places(counted.made, cases, seed):
        scarce = Scarce(at)
        try:
            check(scene, scarce)
        except BaseException as wrong:
            wrong.add_note(f"allocation {at} of {counted.made} in a {kind} failed, seed {seed}")
            raise
        kinds["failed"] += scarce.has_failed
    return kinds
