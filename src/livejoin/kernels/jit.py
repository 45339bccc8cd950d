"""How kernels are compiled and cached.

A kernel is a plain function over NumPy arrays and integers. Compiled code is cached on disk in a folder named by a
hash of all kernel sources and the compiler's version, because Numba notices an edited function but not an edited
callee in another file. With ``NUMBA_DISABLE_JIT=1`` the decorators return the function as it is.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


@cache
def cache_folder() -> Path:
    """The folder of compiled kernels: below ``NUMBA_CACHE_DIR`` if set, else the user's cache folder."""
    digest = hashlib.sha256(f"{numba.__version__} {sys.version_info[:2]}".encode())
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    base = os.environ.get("NUMBA_CACHE_DIR")
    root = Path(base) if base else Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "livejoin"
    return root / f"kernels-{digest.hexdigest()[:16]}"


def kernel(function: Function) -> Function:
    """Compile a function that Python calls; cached on disk."""
    before = numba.config.CACHE_DIR  # type: ignore[attr-defined]
    numba.config.CACHE_DIR = str(cache_folder())  # type: ignore[attr-defined]
    try:
        return cast(Function, numba.njit(cache=True, boundscheck=False)(function))
    finally:
        numba.config.CACHE_DIR = before  # type: ignore[attr-defined]


def inlined(function: Function) -> Function:
    """Compile a small helper that other kernels call; inlined by the compiler's back end, not cached by itself."""
    return cast(Function, numba.njit(forceinline=True, boundscheck=False)(function))


def helper(function: Function) -> Function:
    """Compile a function that only other kernels call; the compiler decides about inlining."""
    return cast(Function, numba.njit(boundscheck=False)(function))
