"""Kernels compute modulo 2**64; run uncompiled, NumPy's scalars would warn about every wrap."""

from __future__ import annotations

from contextlib import AbstractContextManager

import numpy as np


def wrapping() -> AbstractContextManager[object]:
    """A context in which integers wrap silently, compiled or not."""
    return np.errstate(over="ignore")
