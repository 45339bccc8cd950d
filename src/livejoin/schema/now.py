"""The table that has the time of a database, which `now()` reads.

It has one row: its window keeps the newest time alone, so that the time never goes back.
"""

from __future__ import annotations

import datetime as dt
from typing import Final

NOW: Final = "livejoin_now"
NOW_COLUMN: Final = "at"
NOW_RANGE: Final = dt.timedelta(microseconds=1)
