"""From a database's contents to what a snapshot keeps, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from livejoin.database import snapshot
from livejoin.database.contents import Contents
from livejoin.database.maintained import Maintained
from livejoin.database.view import View
from livejoin.families.cells.workers import Workers
from livejoin.plan import Statistics
from livejoin.plan.operators import digest
from livejoin.plan.query_plan import plan_query
from livejoin.sql import bind_query
from livejoin.state.codec import Codec
from livejoin.state.table import BaseTable


def image_of(contents: Contents, extra: Mapping[str, Any]) -> snapshot.Image:
    """What a snapshot keeps.

    Args:
        contents: The database's contents.
        extra: JSON values to keep with it.
    """
    return snapshot.Image(
        version=contents.version,
        extra=extra,
        codec=contents.codec.arrays(),
        tables=[(base.table, base.arrays()) for base in contents.tables.values()],
        views=[
            snapshot.ViewImage(
                v.name,
                v.sql,
                v.deltas,
                v.algorithm,
                v._maintained.statistics.plain(),
                digest(v._maintained.plan),
                v._maintained.flow.arrays(),
                v.adaptive,
            )
            for v in contents.views.values()
        ],
    )


def restored(image: snapshot.Image, workers: Workers) -> Contents:
    """The contents of a snapshot; views that are split into another number of cells are loaded anew.

    Args:
        image: The snapshot.
        workers: The threads of the new database.
    """
    contents = Contents(workers)
    contents.version = image.version
    contents.codec = Codec.from_arrays(image.codec)
    for table, arrays in image.tables:
        contents.catalog.add(table)
        contents.tables[table.name.lower()] = BaseTable.from_arrays(table, arrays)
    for kept in image.views:
        query = bind_query(kept.sql, contents.catalog)
        known = Statistics.from_plain(kept.statistics)
        plan = plan_query(query, known, kept.deltas, kept.algorithm, workers.threads)
        settings = (contents.codec, contents.tables, known, kept.algorithm, workers, kept.adaptive)
        maintained = Maintained(kept.name, query, plan, kept.deltas, *settings)
        if digest(plan) == kept.digest:
            maintained.restore(kept.arrays)
        else:
            maintained.rebuild()
        contents.views[kept.name.lower()] = View(maintained)
    return contents
