"""An explanation as rows of a table, for clients that know no more than SQL: a line of its text each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from livejoin.plan.explain.explanation import Explanation

SCHEMA = pa.schema([pa.field("explanation", pa.string(), nullable=False)])
"""The columns that ``EXPLAIN`` gives."""


def as_rows(explanation: Explanation) -> pa.Table:
    """The lines of `livejoin.plan.Explanation.text`, in their order."""
    lines = explanation.text().splitlines()
    return pa.Table.from_arrays([pa.array(lines, pa.string())], schema=SCHEMA)
