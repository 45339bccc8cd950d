"""Where the manual is: its pages come with the wheel, and `make docs` builds them in a checkout."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).parent
INDEX = "index.html"


def manual() -> Path | None:
    """The folder of the manual's pages; None where nobody has built it."""
    places = (_HERE / "pages", _HERE.parents[1] / "build" / "manual")
    return next((place for place in places if (place / INDEX).is_file()), None)
