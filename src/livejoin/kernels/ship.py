"""Compiles all kernels into a folder, for a wheel: ``python -m livejoin.kernels.ship FOLDER``, then ``check FOLDER``.

The hook of the build runs both in processes of their own, with ``NUMBA_CPU_NAME=generic``, so that
the code runs on every x86-64 processor (`docs/decisions/0053-kernels-in-the-wheel.md`).
"""

from __future__ import annotations

import ast
import hashlib
import json
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numba

from livejoin.kernels.compiling import shipped
from livejoin.kernels.compiling.signatures import declared, described

_COMPILER = ("livejoin.kernels.jit",)
"""What decides how all kernels are compiled."""


Kernels = Iterable[tuple[Any, tuple[Any, ...]]]
"""Kernels, each with one of its signatures."""


def compile_into(folder: Path, kernels: Kernels) -> int:
    """Compile kernels, and write their code and its index. Give how many there are.

    Raises:
        RuntimeError: The code would be for the processor of this machine.
    """
    name = numba.config.CPU_NAME  # type: ignore[attr-defined]
    if name != "generic":
        msg = f"kernels for a wheel are compiled with NUMBA_CPU_NAME=generic, not {name!r}"
        raise RuntimeError(msg)
    folder.mkdir(parents=True)
    known = list(kernels)
    # Before anything is compiled, as a source may be edited meanwhile.
    of_module = {module: sources(module) for module in {kernel.py_func.__module__ for kernel, _ in known}}
    digests = {path: shipped.digest_of(path) for path in sorted(set().union(*of_module.values()))}
    places = {path: at for at, path in enumerate(digests)}
    codes: dict[str, tuple[str, str, list[int]]] = {}
    for kernel, signature in known:
        kernel.compile(signature)
        line = described(kernel.py_func, signature)
        file = f"{line.partition('(')[0]}-{hashlib.sha256(line.encode()).hexdigest()[:8]}.code"
        checksum = shipped.write(folder / file, kernel.overloads[signature])
        codes[line] = (file, checksum, [places[path] for path in of_module[kernel.py_func.__module__]])
    index = {"machine": shipped.machine(), "sources": digests, "codes": codes}
    (folder / shipped.INDEX).write_text(json.dumps(index, indent=1), encoding="utf-8")
    return len(codes)


def check(folder: Path, kernels: Kernels) -> int:
    """Load each file, in a process that has compiled nothing. Give how many there are; none may be missing.

    LLVM ends a process in which it does not find a function that the code calls, so this is a process of the build.

    Raises:
        RuntimeError: The code of a kernel cannot be loaded.
    """
    own = shipped.read(folder)
    count = 0
    for kernel, signature in kernels:
        line = described(kernel.py_func, signature)
        code = None if own is None else own.find(line)
        if code is None or shipped.load(folder / code.file, code.checksum, kernel.targetctx) is None:
            msg = f"the code of {line} cannot be loaded"
            raise RuntimeError(msg)
        count += 1
    return count


def sources(module: str) -> list[str]:
    """The files below the folder of livejoin on which the code of a module's kernels depends, in the order of names.

    They are the module's own, those of all modules of livejoin that it imports, directly or not, and those of what
    compiles kernels.
    """
    found: set[str] = set()
    waiting = [module, *_COMPILER]
    while waiting:
        path = _path_of(waiting.pop())
        if path and path not in found:
            found.add(path)
            waiting += _imported(path)
    return sorted(found)


def _path_of(module: str) -> str:
    """The file of a module or package of livejoin, below the folder of livejoin; nothing if it is none."""
    below = module.replace(".", "/").removeprefix("livejoin/")
    for path in (f"{below}.py", f"{below}/__init__.py"):
        if module.startswith("livejoin.") and (shipped.PACKAGE / path).is_file():
            return path
    return ""


@cache
def _imported(path: str) -> tuple[str, ...]:
    """What a file imports, as names of modules; some of them are names of what modules have."""
    return tuple(_names(ast.parse((shipped.PACKAGE / path).read_bytes())))


def _names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module)
            yield from (f"{node.module}.{one.name}" for one in node.names)


if __name__ == "__main__":
    *words, name = sys.argv[1:]
    print((check if words == ["check"] else compile_into)(Path(name), declared()), "kernels")
