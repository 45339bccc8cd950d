"""How far data may differ from what its table is declared to be, and still be taken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Coerce = Literal["strict", "json"]
"""Which values a column takes: those of its own kind alone, or also what JSON, texts and floats make of them."""
ExtraColumns = Literal["refuse", "ignore"]
"""What becomes of columns that the table does not have."""


@dataclass(frozen=True)
class Intake:
    """How data is taken in.

    Args:
        coerce: ``strict``: values of the column's kind, and every column. ``json``: what `livejoin.changes.coerce` says
            too, and a column that is not given is NULL.
        extra_columns: What happens to columns that the table does not have.
    """

    coerce: Coerce = "strict"
    extra_columns: ExtraColumns = "refuse"


STRICT = Intake()
