"""Kernels compute modulo 2**64; run uncompiled, NumPy's scalars would warn about every wrap."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import numba
import numpy as np

_NOTHING = nullcontext()


def wrapping() -> AbstractContextManager[object]:
    """A context in which integers of kernels wrap silently, compiled or not; compiled ones do so anyway."""
    return np.errstate(over="ignore") if numba.config.DISABLE_JIT else _NOTHING  # type: ignore[attr-defined]
