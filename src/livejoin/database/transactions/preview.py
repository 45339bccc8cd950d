"""A commit that is only looked at: it is made, read, and undone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from livejoin.changes import ChangeBatch, Intake
from livejoin.database.commit import BadRow, Commit
from livejoin.database.contents import Contents
from livejoin.database.lineage.causes import Cause, Given
from livejoin.database.names import ByName
from livejoin.database.reading import Row
from livejoin.database.transactions.assertions import refuse_violations
from livejoin.database.transactions.bad_rows import with_good
from livejoin.database.transactions.staging import OnConflict
from livejoin.database.transactions.transaction import trial
from livejoin.errors import ReadError, ViolationError


@dataclass(frozen=True, eq=False)
class Preview:
    """What a commit would be.

    Args:
        version: The version that it would have.
        changes: How many changes would be applied.
        ignored: How many would be skipped, as `livejoin.Commit` says.
        late: How many would come too late.
        deltas: The delta of each view that keeps deltas and that would change, by its name.
        violations: The assertions that would refuse it, as the errors that `livejoin.Database.apply` would raise.
        bad_rows: How many changes would be left out as bad ones.
        dead_letters: The changes that would be left out, as `livejoin.Commit` has them.
        given: The changes, for `why`.
        unchanged: The empty deltas of the views that would not change.

    ``preview["name"]`` is the delta of a view, as ``commit["name"]`` is.
    """

    version: int
    changes: int
    ignored: int
    late: int
    deltas: Mapping[str, pa.Table]
    violations: tuple[ViolationError, ...] = ()
    bad_rows: int = 0
    dead_letters: tuple[BadRow, ...] = ()
    given: Given | None = field(default=None, repr=False)
    unchanged: Commit | None = field(default=None, repr=False)

    def __getitem__(self, view: str) -> pa.Table:
        """The delta of a view, empty where it would not change.

        Raises:
            ReadError: The view keeps no deltas, or there is no such view.
        """
        if view in self.deltas:
            return self.deltas[view]
        assert self.unchanged is not None
        return self.unchanged[view]

    def why(self, view: str, row: Row) -> Cause:
        """Which of the changes make a row of a view come or go: a least set that does it by itself.

        Args:
            view: The view's name.
            row: The row, as a tuple in the order of the schema, or the values of some columns by their names: then all
                rows with these values that come or go.

        Raises:
            ReadError: No such row comes or goes, or the database has had another commit by now.

        Cost: O(found * log(changes)) previews.

        >>> from livejoin import Database
        >>> db = Database()
        >>> db.execute("CREATE TABLE stock (item STRING, pieces INT)")
        >>> view = db.create_view("many", "SELECT item FROM stock GROUP BY item HAVING SUM(pieces) > 10")
        >>> seen = db.preview("stock", [("nuts", 7), ("bolts", 3), ("nuts", 8)])
        >>> print(seen.why("many", ("nuts",)))
        many changes
          + item = 'nuts'
        by 2 of 3 changes:
          insert stock: item = 'nuts', pieces = 7
          insert stock: item = 'nuts', pieces = 8
        """
        if view not in self.deltas:
            msg = f"the preview changes no view {view!r}; it changes {', '.join(self.deltas) or 'none'}"
            raise ReadError(msg)
        assert self.given is not None
        return self.given.before(self.deltas[view], view, row)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name}: {delta.num_rows} delta rows" for name, delta in self.deltas.items())
        refused = "".join(f", refused by {error.assertion!r}" for error in self.violations)
        return f"Preview(version={self.version}, changes={self.changes}{refused}" + (f", {sizes})" if sizes else ")")


def previewed(contents: Contents, batches: Sequence[ChangeBatch], on_conflict: OnConflict) -> Preview:
    """As `livejoin.Database.preview`, of changes that were read."""
    found: list[Preview] = []

    def look(commit: Commit) -> None:
        deltas = ByName((name, commit[name]) for name in commit.views if commit.rows(name))
        given = Given(contents, tuple(batches), on_conflict, contents.version, trial)
        said = (commit.version, commit.changes, commit.ignored, commit.late, deltas, commit.violations)
        unchanged = Commit(commit.version, 0, 0, contents.shown.unchanged, contents.shown.quiet)
        found.append(Preview(*said, given=given, unchanged=unchanged))

    trial(contents, batches, on_conflict, look)
    return found[-1]


def previewed_good(
    contents: Contents, named: Mapping[str, object], on_conflict: OnConflict, intake: Intake, *, tells: bool
) -> Preview:
    """As `livejoin.Database.preview` where bad rows are left out.

    Args:
        contents: The database's contents.
        named: The changes of each table.
        on_conflict: What happens to conflicts.
        intake: How far data may differ from what tables are declared to be.
        tells: Whether it gives those that are left out.
    """

    def look(batches: list[ChangeBatch], _: int) -> Preview:
        seen = previewed(contents, batches, on_conflict)
        refuse_violations(seen.violations)
        return seen

    seen, bad = with_good(contents, named, on_conflict, intake, look)
    return replace(seen, bad_rows=len(bad), dead_letters=tuple(bad) if tells else ())
