"""The embedded engine: tables, views, commits and snapshots in one process."""

from livejoin.database.commit import Commit
from livejoin.database.engine import Database
from livejoin.database.stored_table import StoredTable
from livejoin.database.transactions.preview import Preview
from livejoin.database.transactions.replay import Replay
from livejoin.database.versions.following import Changes, Update
from livejoin.database.versions.rows_at import RowsAt
from livejoin.database.versions.snapshot import Snapshot
from livejoin.database.view import View

__all__ = ["Changes", "Commit", "Database", "Preview", "Replay", "RowsAt", "Snapshot", "StoredTable", "Update", "View"]
