"""How kernels are compiled and cached.

A kernel is a plain function over NumPy arrays and integers. Compiled code is cached on disk in a folder named by a
hash of all kernel sources and of `livejoin.words`, of their places and of the compiler's version, because Numba notices
an edited function but not an edited callee in another file. With ``NUMBA_DISABLE_JIT=1`` kernels are the functions as
they are written. With ``NUMBA_BOUNDSCHECK=1`` every access of a kernel to an array or an arena is checked, and the code
is cached apart. Kernels that came compiled with the package are taken before any is looked for there
(`livejoin.kernels.compiling.shipped`).
"""

from __future__ import annotations

import atexit
import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np

from livejoin import own_folders
from livejoin.kernels.compiling.linking import as_helper, as_kernel
from livejoin.kernels.compiling.rules import ask_plain_first
from livejoin.kernels.compiling.shipped import Kept, KernelCache

Function = TypeVar("Function", bound=Callable[..., Any])


@cache
def cache_folder() -> Path:
    """The folder of compiled kernels, which is made if it is not there.

    Below ``NUMBA_CACHE_DIR`` if set, else below the user's cache folder, and below the folder for temporary files where
    that cannot be written. Where no folder is the user's alone, one that goes with this process.
    """
    digest = hashlib.sha256(f"{numba.__version__} {sys.version_info[:2]}".encode())
    if numba.config.BOUNDSCHECK:  # type: ignore[attr-defined]
        digest.update(b"checked")
    root = Path(__file__).parent
    for source in sorted((*root.rglob("*.py"), root.with_name("words.py"))):
        digest.update(f"{source.relative_to(root.parent)}\n".encode() + source.read_bytes())
    name = f"kernels-{digest.hexdigest()[:16]}"
    named = os.environ.get("NUMBA_CACHE_DIR")
    for parent in (Path(named) if named else own_folders.cache_folder(), own_folders.temporary_folder()):
        if parent is None:
            continue
        folder = parent / name
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    return _folder_of_this_process(name)


def _folder_of_this_process(name: str) -> Path:
    """A folder that goes with this process: nothing that it compiles is kept."""
    made = tempfile.TemporaryDirectory(prefix="livejoin-")
    atexit.register(made.cleanup)
    folder = Path(made.name) / name
    folder.mkdir()
    return folder


def kernel(function: Function) -> Function:
    """Compile a function that Python calls; cached on disk. It runs without the GIL, so that cells run side by side.

    Kernels compute modulo 2**64; run uncompiled, NumPy's scalars would warn about every wrap, so they may not.
    """
    if _INTERPRETED:
        return np.errstate(over="ignore")(function)
    cached = KernelCache(function, lambda: _kept(function))
    return cast(Function, as_kernel(function, cached, boundscheck=False, nogil=True, no_cfunc_wrapper=True))


def _kept(function: Callable[..., Any]) -> Kept:
    """Numba's cache of a kernel, in the user's folder."""
    before = numba.config.CACHE_DIR  # type: ignore[attr-defined]
    numba.config.CACHE_DIR = str(cache_folder())  # type: ignore[attr-defined]
    try:
        return Kept(function)  # type: ignore[no-untyped-call]
    finally:
        numba.config.CACHE_DIR = before  # type: ignore[attr-defined]


def inlined(function: Function) -> Function:
    """Compile a small helper that other kernels call; inlined by the compiler's back end, not cached by itself."""
    return function if _INTERPRETED else cast(Function, as_helper(function, boundscheck=False, forceinline=True))


def helper(function: Function) -> Function:
    """Compile a function that only other kernels call; the compiler decides about inlining."""
    return function if _INTERPRETED else cast(Function, as_helper(function, boundscheck=False))


def as_written(function: Function) -> Function:
    """A helper that Python calls with a few small numbers. Numba would compile it for that, in every process anew."""
    return function if _INTERPRETED else cast(Function, function.py_func)  # type: ignore[attr-defined]


_INTERPRETED = bool(numba.config.DISABLE_JIT)  # type: ignore[attr-defined]
if not _INTERPRETED:
    ask_plain_first()


def is_interpreted() -> bool:
    """Whether kernels run as plain Python, as somebody has asked Numba by ``NUMBA_DISABLE_JIT``."""
    return bool(numba.config.DISABLE_JIT)  # type: ignore[attr-defined]
