"""The embedded engine: tables, views, commits and snapshots in one process."""

from livejoin.database.commit import Commit
from livejoin.database.engine import Database
from livejoin.database.transactions.replay import Replay
from livejoin.database.view import View

__all__ = ["Commit", "Database", "Replay", "View"]
