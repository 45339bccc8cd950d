"""One commit that is cut off at each of its points, and the commits behind it: views, deltas, followers.

Random lives (`torture.interrupts.Life`) look at another commit each time. Here each point has a process of its own,
forked from the same state: the commit is cut off there, made again if it does not stand, and others follow. Law:
whatever the point, every view, every delta, every follower and every subscriber is as if nothing had been.
"""

from __future__ import annotations

import os
import pickle
import traceback
from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeAlias

import pyarrow as pa

from livejoin.database.transactions import transaction
from oracle import assert_same_rows, difference, multiset, signed_multiset
from scenario import Row
from torture.interrupts import NEVER, VIEWS, WITHOUT_DELTAS, Life, _raising, cut_off, places

Rows: TypeAlias = dict[str, Counter[Row]]

_BEHIND = 2  # commits that follow
_KINDS = (KeyboardInterrupt, MemoryError)
TOLD = tuple(name for name in VIEWS if name not in WITHOUT_DELTAS)


class Scene:
    """A database with followers and subscribers of all views, and the commits that it is to be given.

    Args:
        seed: Of its content.
        threads: The database's threads.
    """

    def __init__(self, seed: int, threads: int = 1) -> None:
        self.life = life = Life(seed, threads)
        db = life.db
        self.following = {name: db.views[name].changes() for name in TOLD}
        self.told: Rows = {name: multiset(db.views[name].to_arrow()) for name in TOLD}
        for name in TOLD:
            db.views[name].subscribe(lambda delta, name=name: self.told[name].update(signed_multiset(delta)))
        self.followed: Rows = {name: Counter() for name in TOLD}
        life.check()  # it loads kernels that each process would load
        self._drain()
        self.commits: list[dict[str, pa.Table]] = []
        before = dict(life.rows)
        for _ in range(1 + _BEHIND):
            given, after = life.changes()
            self.commits.append(given)
            life.rows |= after
        self.after, life.rows = life.rows, before
        db._contents.links.spare()  # what merely lingers must hold nothing up

    def results(self) -> Rows:
        """The rows of all views."""
        return {name: multiset(view.to_arrow()) for name, view in self.life.db.views.items()}

    def expected(self) -> list[Rows]:
        """The views before and behind each commit; DuckDB says that the last ones are right. Changes the database."""
        found = [self.results()]
        for given in self.commits:
            self.life.db.apply(given)
            found.append(self.results())
        self.life.rows = self.after
        self.life.check()
        return found

    def cut(self, at: int, expected: Sequence[Rows]) -> bool:
        """Cut the first commit off at a point, go on, and assert the law; whether it stood. Changes the database."""
        life = self.life
        version, kept = life.db.version, transaction.settle
        error = _KINDS[at % 2]
        try:
            if at % 3 == 0:  # nor does the commit get to undoing anything
                transaction.settle = _raising(error)  # type: ignore[assignment]
            cut = cut_off(lambda: life.db.apply(self.commits[0]), error, at)
        finally:
            transaction.settle = kept
        stands = life.db.version > version
        try:
            life.db._contents.links.spare()
            self._check_told(expected[int(stands)])
            for number, given in enumerate(self.commits):
                if number or not stands:
                    commit = life.db.apply(given)
                    self._check_deltas(commit, expected[number : number + 2])
                    self._check_told(expected[number + 1])
            assert self.results() == expected[-1]
            life.db._check()
        except BaseException as wrong:
            wrong.add_note(f"cut by {error.__name__} at point {at}, in {cut.where}; the commit stands: {stands}")
            raise
        return stands

    def _check_deltas(self, commit: Any, around: Sequence[Rows]) -> None:
        for name in TOLD:
            wanted = difference(around[1][name], around[0][name])
            assert signed_multiset(commit[name]) == wanted, f"the delta of {name}"

    def _check_told(self, expected: Rows) -> None:
        self.life.db.stats()  # any call brings to its end what was cut off
        self._drain()
        for name in TOLD:
            assert_same_rows(+self.followed[name], expected[name], f"what one who follows {name} was told")
            assert_same_rows(+self.told[name], expected[name], f"what the subscriber of {name} was told")

    def _drain(self) -> None:
        for name, changes in self.following.items():
            while True:
                try:
                    update = changes.next(timeout=0)
                except TimeoutError:
                    break
                assert update is not None
                if update.reset:
                    self.followed[name] = Counter()
                self.followed[name].update(signed_multiset(update.delta))


def run(cases: int, seed: int, threads: int = 1) -> Counter[str]:
    """Cut a commit off at so many of its points, or at all if it has fewer; how often it stood and did not."""
    scene = Scene(seed, threads)
    total = _points(scene)
    wanted = _in_child(scene.expected)
    found: Counter[str] = Counter(points=total)
    for at in places(total, cases, seed):
        found["stands" if _in_child(lambda at=at: scene.cut(at, wanted)) else "does not"] += 1
    return found


def _points(scene: Scene) -> int:
    def count() -> int:
        return cut_off(lambda: scene.life.db.apply(scene.commits[0]), KeyboardInterrupt, NEVER).points

    points: int = _in_child(count)
    return points


def _in_child(call: Any) -> Any:
    """What a call gives in a process forked from this one, which stays as it is."""
    heard, tell = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(heard)
        code = 1
        try:
            answer = pickle.dumps((True, call()))
            code = 0
        except BaseException:
            answer = pickle.dumps((False, traceback.format_exc()))
        with os.fdopen(tell, "wb") as file:
            file.write(answer)
        os._exit(code)
    os.close(tell)
    with os.fdopen(heard, "rb") as file:
        text = file.read()
    os.waitpid(child, 0)
    assert text, "the child is gone without an answer"
    good, answer = pickle.loads(text)  # our own child
    assert good, answer
    return answer
