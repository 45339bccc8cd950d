"""The watermarks that ``withWatermark`` has set on a frame, as the analysed plan and the columns have them.

Spark puts a node into the plan of a stream, and the delay into the metadata of the column, which go with the column
through selections and other names. Both are asked: files that Spark has written keep the metadata of their columns.
"""

from __future__ import annotations

import datetime as dt
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import types as T

_NODE: Final = "EventTimeWatermark"
_DELAY: Final = "spark.watermarkDelayMs"


def watermarks_of(frame: DataFrame) -> list[tuple[str, dt.timedelta]]:
    """The columns of times of a stream that have a watermark, each with its delay; none of a batch frame.

    A column that was computed of one with a watermark has none.

    Cost: a walk over the plan, where a column has a delay.
    """
    found = [
        (field.name, dt.timedelta(milliseconds=int(field.metadata[_DELAY])))
        for field in frame.schema.fields
        if _DELAY in field.metadata and isinstance(field.dataType, (T.TimestampType, T.TimestampNTZType))
    ]
    return found if found and _is_below(frame._jdf.queryExecution().analyzed()) else []


def _is_below(plan: Any) -> bool:
    """Whether a node of a watermark is in a plan."""
    left = [plan]
    while left:
        node = left.pop()
        if node.nodeName() == _NODE:
            return True
        children = node.children()
        left += [children.apply(number) for number in range(children.size())]
    return False
