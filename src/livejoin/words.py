"""The one array type of the engine: 64-bit words.

A value is a word: an integer as it is, a double by its bits, a string or a wide decimal by its code in a dictionary.
Kernels see words only.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Words: TypeAlias = npt.NDArray[np.int64]
"""An array of words, of any shape."""

WORD_BYTES = 8
"""Bytes of a word."""

NULL_CODE = 0x7FF94E554C4C0001
"""The word of NULL: a pattern of NaN that no double has here."""

CANONICAL_NAN = 0x7FF8000000000000
"""The word of every NaN."""

WIDE_BASE = 1 << 62
"""What the word of a decimal that is in the dictionary has above its place there."""

NARROW_LIMIT = 10**18
"""Unscaled decimals below are words, those from here on are in the dictionary."""
