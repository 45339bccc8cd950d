"""What is said about compiling, on standard error: who waits for it should know why."""

from __future__ import annotations

import logging
import sys

logger = logging.getLogger("livejoin")


def say(text: str) -> None:
    """Say a line, unless ``logging.getLogger("livejoin").setLevel(logging.WARNING)`` silences it."""
    if logger.level <= logging.INFO:
        print(f"livejoin: {text}", file=sys.stderr)
