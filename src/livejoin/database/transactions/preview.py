"""A commit that is only looked at: it is made, read, and undone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from livejoin.changes import ChangeBatch
from livejoin.database.commit import Commit
from livejoin.database.contents import Contents
from livejoin.database.names import ByName
from livejoin.database.transactions.staging import OnConflict
from livejoin.database.transactions.transaction import trial
from livejoin.errors import ViolationError


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
    """

    version: int
    changes: int
    ignored: int
    late: int
    deltas: Mapping[str, pa.Table]
    violations: tuple[ViolationError, ...] = ()

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name}: {delta.num_rows} delta rows" for name, delta in self.deltas.items())
        refused = "".join(f", refused by {error.assertion!r}" for error in self.violations)
        return f"Preview(version={self.version}, changes={self.changes}{refused}" + (f", {sizes})" if sizes else ")")


def previewed(contents: Contents, batches: Sequence[ChangeBatch], on_conflict: OnConflict) -> Preview:
    """As `livejoin.Database.preview`, of changes that were read."""
    found: list[Preview] = []

    def look(commit: Commit) -> None:
        deltas = ByName((name, commit[name]) for name in commit.views if commit.rows(name))
        found.append(Preview(commit.version, commit.changes, commit.ignored, commit.late, deltas, commit.violations))

    trial(contents, batches, on_conflict, look)
    return found[-1]
