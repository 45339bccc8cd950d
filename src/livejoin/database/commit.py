"""What a commit did."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from livejoin.database.names import ByName
from livejoin.errors import ReadError


class Commit:
    """One atomic commit, or all versions of a replay or of a piece of one.

    ``commit["name"]`` is the delta of a view: its columns, ``_change_type`` (``insert`` or ``delete``) and
    ``_commit_version``; a row of multiplicity m stands there m times.

    Attributes:
        version: The database's version after it.
        changes: Changes applied.
        ignored: Changes skipped as conflicts, and insertions that came too late for a window by range.
        sequence: The largest ``_seq`` of its changes, in a replay the last; None where they have none.
    """

    def __init__(
        self,
        version: int,
        changes: int,
        ignored: int,
        deltas: Mapping[str, pa.Table],
        quiet: frozenset[str],
        sequence: int | None = None,
    ) -> None:
        self.version = version
        self.changes = changes
        self.ignored = ignored
        self.sequence = sequence
        self._deltas = ByName(deltas.items())
        self._quiet = ByName((name, name) for name in quiet)

    @property
    def views(self) -> tuple[str, ...]:
        """Names of the views that have a delta here, empty ones included."""
        return tuple(self._deltas)

    def __getitem__(self, view: str) -> pa.Table:
        """The delta of a view.

        Raises:
            ReadError: The view keeps no deltas, or there is no such view.
        """
        if view in self._deltas:
            return self._deltas[view]
        if view in self._quiet:
            msg = f"view {view!r} was created with deltas=False, so no commit has its delta; read the view itself"
            raise ReadError(msg)
        msg = f"commit {self.version} has no delta of a view {view!r}; it has {', '.join(self._deltas) or 'none'}"
        raise ReadError(msg)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name}: {delta.num_rows} delta rows" for name, delta in self._deltas.items())
        return f"Commit(version={self.version}, changes={self.changes}" + (f", {sizes})" if sizes else ")")
