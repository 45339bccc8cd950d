"""What a database holds."""

from __future__ import annotations

from dataclasses import dataclass, field

from livejoin.database.maintained import Maintained
from livejoin.database.view import View
from livejoin.families.cells.workers import Workers
from livejoin.schema import Catalog
from livejoin.state.codec import Codec
from livejoin.state.table import BaseTable


@dataclass
class Contents:
    """What a database holds; mutable.

    Args:
        workers: Its threads.
        catalog: The declarations of its tables.
        codec: Its dictionaries.
        tables: The rows of its tables, by name in lower case.
        views: Its views, by name in lower case.
        version: That of the last commit.
        kept_entries: Entries of the dictionaries when they were last looked through for garbage.
    """

    workers: Workers
    catalog: Catalog = field(default_factory=Catalog)
    codec: Codec = field(default_factory=Codec)
    tables: dict[str, BaseTable] = field(default_factory=dict)
    views: dict[str, View] = field(default_factory=dict)
    version: int = 0
    kept_entries: int = 0

    @property
    def maintained(self) -> list[Maintained]:
        """What maintains the views."""
        return [view._maintained for view in self.views.values()]
