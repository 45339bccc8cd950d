"""What one commit changed: the deltas of the views."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from livejoin.database import notebook
from livejoin.database.arguments import check_number
from livejoin.database.names import ByName
from livejoin.dataflow.deltas.view_delta import ViewDelta
from livejoin.dataflow.of_view import of_view
from livejoin.errors import ReadError, ViolationError

if TYPE_CHECKING:
    from livejoin.database.lineage.causes import Cause, Given
    from livejoin.database.reading import Row

NOTHING: Mapping[str, tuple[int, int]] = MappingProxyType({})
_MOST_ROWS = (1 << 63) - 1


def _nothing() -> None:
    """No changes are there."""


@dataclass(frozen=True, eq=False)
class BadRow:
    """A change that was left out of a commit, because it is none or a view has no value for it.

    Args:
        table: The name of its table, as it was given.
        row: The position among the changes that were given for the table.
        reason: The message that an error would have had.
        change: The change as it was given; of Arrow a dict.
    """

    table: str
    row: int
    reason: str
    change: Any


class Commit:
    """One atomic commit, or all versions of a replay or of a piece of one.

    ``commit["name"]`` is the delta of a view: the view's columns, ``_change_type`` (``insert`` or ``delete``) and
    ``_commit_version``. A row of multiplicity m stands there m times. ``commit.batches("name")`` streams the same rows,
    also where a spilled delta is larger than memory (`livejoin.Database`). Deltas can be read from any thread as long
    as the commit object lives, even when the database is gone. Spilled deltas take room on the disk as long.

    Attributes:
        version: The database's version after the commit.
        changes: How many changes were applied.
        ignored: How many changes were skipped: conflicts, and insertions that came too late for a window by range.
        late: How many changes of tables with ``sequence_by`` were skipped because their key has a newer change, and of
            tables with a watermark because they are of a time before it.
        sequence: The largest ``_seq`` of the changes, in a replay the last; None where changes have no ``_seq``.
        bad_rows: How many changes were left out as ``on_bad_rows`` says.
        dead_letters: The changes that were left out, with the reasons, for ``on_bad_rows="dead_letter"``; else none.
        repeated: Whether it is the answer to a request that was done before, and nothing was changed now; it has no
            deltas then.
        given: The changes, as long as it is the last commit of its database.
        violations: Of a commit that is only tried the assertions that would refuse it, as the errors that would say so.
    """

    bad_rows: int = 0
    dead_letters: tuple[BadRow, ...] = ()
    repeated: bool = False
    violations: tuple[ViolationError, ...] = ()
    given: Callable[[], Given | None] = staticmethod(_nothing)

    def __init__(
        self,
        version: int,
        changes: int,
        ignored: int,
        deltas: ByName[ViewDelta],
        quiet: Container[str],
        sequence: int | None = None,
        late: int = 0,
        left_out: Mapping[str, tuple[int, int]] = NOTHING,
    ) -> None:
        self.version = version
        self.changes = changes
        self.ignored = ignored
        self.sequence = sequence
        self.late = late
        self._left_out = left_out  # how many of each table, in lower case, were ignored and late, where some were
        self._deltas = deltas
        self._quiet = quiet

    @property
    def views(self) -> tuple[str, ...]:
        """Names of the views that have a delta here, empty ones included."""
        return tuple(self._deltas)

    @property
    def spilled(self) -> tuple[str, ...]:
        """Names of the views whose deltas were too large for memory and are on the disk."""
        return tuple(name for name, delta in self._deltas.items() if delta.is_in_files)

    def rows(self, view: str) -> int:
        """How many rows the delta of a view has; O(1).

        Raises:
            ReadError: As for ``commit[view]``.
        """
        return self._delta(view).num_rows

    def __getitem__(self, view: str) -> pa.Table:
        """The delta of a view; one that was spilled is read whole, each time.

        Raises:
            ReadError: The view keeps no deltas, or there is no such view.
            MemoryLimitError: The delta was spilled and does not fit into memory now; `batches` gives it piece by piece.
            StorageError: The delta was spilled, and the system refuses to read it.
        """
        with of_view(view):
            return self._delta(view).table()

    def batches(self, view: str, max_rows: int = 65536) -> Iterator[pa.RecordBatch]:
        """Stream the delta of a view; a spilled delta is never whole in memory.

        Rows come in the order of ``commit[view]``: versions ascend, and within a version deletions come before
        insertions. A row that takes the place of another row follows that one. The schema is `View.delta_schema`; an
        empty delta has no batches.

        Args:
            view: The view's name.
            max_rows: Largest number of rows in a batch; many are smaller.

        Raises:
            ReadError: As for ``commit[view]``, or ``max_rows`` is not positive.
            StorageError: The delta was spilled, and the system refuses to read it.

        Cost: O(delta); memory for a batch, and a few MB if it was spilled.
        """
        check_number(max_rows, "max_rows", 1, _MOST_ROWS)
        return self._delta(view).batches(max_rows)

    def why(self, view: str, row: Row) -> Cause:
        """Which of its changes made a row of a view come or go: a least set that does it by itself.

        Args:
            view: The view's name.
            row: The row, as a tuple in the order of the schema, or the values of some columns by their names: then all
                rows with these values that came or went.

        Raises:
            ReadError: The database has had another commit since: what the changes did is taken back for this, and then
                done again. Or it has more than 100,000 changes, which are not kept. Or no such row came or went. Or its
                changes are not taken back by their opposite: those by key (what they replaced is not kept), of tables
                with a window, and of append-only tables; `Preview.why` answers for all of them, before.

        Cost: O(found * log(changes)) previews.

        >>> from livejoin import Database
        >>> db = Database()
        >>> db.execute("CREATE TABLE stock (item STRING, pieces INT)")
        >>> view = db.create_view("many", "SELECT item FROM stock GROUP BY item HAVING SUM(pieces) > 10")
        >>> commit = db.apply("stock", [("nuts", 17), ("bolts", 3), ("bolts", 30)])
        >>> print(commit.why("many", {"item": "nuts"}))
        many changes
          + item = 'nuts'
        by 1 of 3 changes:
          insert stock: item = 'nuts', pieces = 17
        """
        delta = self[view]
        given = self.given()
        if given is None or given.contents.version != self.version:
            msg = (
                f"commit {self.version} is not the last one of its database, or had several versions, or more than "
                "100,000 changes; ask before the next commit, or ask a preview: db.preview(changes).why(view, row)"
            )
            raise ReadError(msg)
        return given.behind(delta, view, row)

    def _delta(self, view: str) -> ViewDelta:
        if view in self._deltas:
            return self._deltas[view]
        if view in self._quiet:
            msg = f"view {view!r} was created with deltas=False, so no commit has its delta; read the view itself"
            raise ReadError(msg)
        msg = f"version {self.version} has no delta of a view {view!r}; it has {', '.join(self._deltas) or 'none'}"
        raise ReadError(msg)

    def _repr_html_(self) -> str:
        return notebook.of_commit(self)

    def __repr__(self) -> str:
        sizes = ", ".join(
            f"{name}: {delta.num_rows} delta rows{' on disk' if delta.is_in_files else ''}"
            for name, delta in self._deltas.items()
            if delta.num_rows
        )
        return f"Commit(version={self.version}, changes={self.changes}" + (f", {sizes})" if sizes else ")")
