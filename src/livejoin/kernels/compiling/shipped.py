"""Kernels that came compiled with the package: machine code for every x86-64 processor, read before any is compiled.

``livejoin/kernels/compiled`` is there in a wheel for Linux alone. `index.json` in it names for each kernel and
signature the file of its code, that file's checksum, and the sources from which it was compiled: the kernel's module
and all modules of livejoin that it imports, directly or not. The law: code is used only if the sources that are here
are those from which it was compiled, byte for byte, and Python, Numba and llvmlite too. Else the kernel is
compiled as if there were no such file. Code is read from no other folder.

A file that is damaged is told once by a warning, and its kernel is compiled.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import pickle
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
from llvmlite import binding
from numba.core import sigutils
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _Cache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompileResult
from numba.core.runtime.nrt import rtsys
from numba.core.serialize import dumps

from livejoin.kernels.compiling.signatures import described
from livejoin.kernels.compiling.turns import Turn

logger = logging.getLogger("livejoin")

INDEX = "index.json"
PACKAGE = Path(__file__).parents[2]
"""The folder of livejoin, from which the places of sources are told."""


@dataclass(frozen=True)
class Code:
    """The code of a kernel for one signature.

    Attributes:
        file: The name of its file.
        checksum: SHA-256 of what is in the file.
        sources: Of what it was compiled: a path below the folder of livejoin, and the SHA-256 of its content.
    """

    file: str
    checksum: str
    sources: dict[str, str]


@dataclass(frozen=True)
class Shipped:
    """The codes of a folder, by `livejoin.kernels.compiling.signatures.described`."""

    folder: Path
    codes: dict[str, Code]

    def find(self, line: str) -> Code | None:
        """The code that fits the sources that are here; None if there is none."""
        code = self.codes.get(line)
        fits = code is not None and all(digest_of(path) == digest for path, digest in code.sources.items())
        return code if fits else None


def machine() -> dict[str, str]:
    """What all codes of a folder must have in common with this process."""
    return {
        "python": str(sys.implementation.cache_tag),
        "numba": f"{numba.__version__} llvmlite {llvmlite.__version__}",  # LLVM ends a process at a missing symbol
        "system": f"{sys.platform} {os.uname().machine}",
    }


@cache
def shipped() -> Shipped | None:
    """The codes that came with the package; None if there are none, or if they are for another machine or Python.

    None too where kernels are compiled with checks or for a debugger, which those that came are not.
    """
    if numba.config.BOUNDSCHECK or numba.config.DEBUGINFO_DEFAULT:  # type: ignore[attr-defined]
        return None
    return read(PACKAGE / "kernels" / "compiled")


def read(folder: Path) -> Shipped | None:
    """The codes of a folder; None if they are for another machine or Python."""
    try:
        index = json.loads((folder / INDEX).read_bytes())
        if index["machine"] != machine():
            return None
        sources = list(index["sources"].items())
        codes = {
            line: Code(file, checksum, dict(sources[at] for at in of))
            for line, (file, checksum, of) in index["codes"].items()
        }
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        _warn(folder / INDEX, error)
        return None
    return Shipped(folder, codes)


@cache
def digest_of(path: str) -> str:
    """The SHA-256 of a source below the folder of livejoin; nothing if it is not there."""
    try:
        return hashlib.sha256((PACKAGE / path).read_bytes()).hexdigest()
    except OSError:
        return ""


class KernelCache(_Cache):
    """Where the compiled code of one kernel is looked for: in the package, then where this user's is kept.

    Args:
        function: The kernel as it is written.
        kept: Makes Numba's cache in the user's folder, when it is first needed.
    """

    def __init__(self, function: Callable[..., Any], kept: Callable[[], Any]) -> None:
        self._function = function
        self._make_kept = kept
        self._made: Any = None
        self._turn = Turn(f"{function.__module__.removeprefix('livejoin.kernels.')}.{function.__qualname__}")

    @property
    def _kept(self) -> Any:
        if self._made is None:
            self._made = self._make_kept()
        return self._made

    @property
    def cache_path(self) -> Any:
        """The user's folder."""
        return self._kept.cache_path

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled kernel for a signature; None if there is none, and it must be compiled."""
        own = shipped()
        if own is not None:
            arguments, _ = sigutils.normalize_signature(sig)
            code = own.find(described(self._function, arguments))
            loaded = None if code is None else load(own.folder / code.file, code.checksum, target_context)
            if loaded is not None:
                return loaded
        found = self._kept.load_overload(sig, target_context)
        if found is None:
            self._turn.take(Path(self.cache_path).parent)
            found = self._kept.load_overload(sig, target_context)  # who had the turn may have compiled it
        return found

    def give_back(self) -> None:
        """End the turn that was taken to compile the kernel, if it was."""
        self._turn.give_back()

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled, for this user."""
        self._kept.save_overload(sig, data)

    def enable(self) -> None:
        """Use the user's folder."""
        self._kept.enable()

    def disable(self) -> None:
        """Leave the user's folder alone."""
        self._kept.disable()

    def flush(self) -> None:
        """Forget what the user's folder has of this kernel."""
        self._kept.flush()


class _KeptCode(CompileResultCacheImpl):
    """What a file of the user's folder has: the same as a file of the package."""

    def reduce(self, data: Any) -> Any:
        """What is written of a kernel that was compiled in this process."""
        return _taken_apart(data)

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        """The compiled kernel of what was written."""
        return _rebuilt(target_context, *payload)


class Kept(FunctionCache):
    """Numba's cache of a kernel. It reads code without making Numba ready to compile, which takes 0.25 s."""

    _impl_class = _KeptCode

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled kernel for a signature; None if there is none."""
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)


_NO_TEXT = ""
"""In place of Numba's account of the types, which has addresses of the process, so that a second build is the same."""


class _ShippedLibrary(JITCodeLibrary):
    """Machine code of a file. Its code for the linker is parsed only when a kernel that calls it is compiled."""

    bitcode = b""

    def _get_module_for_linking(self) -> Any:
        if self._shared_module is None:
            self._shared_module = binding.parse_bitcode(self.bitcode)
        return self._shared_module


def write(path: Path, result: Any) -> str:
    """Write a kernel that was compiled in this process. Give the checksum of the file."""
    content = dumps(_taken_apart(result))
    path.write_bytes(content)
    return hashlib.sha256(content).hexdigest()


def _taken_apart(result: Any) -> tuple[tuple[str, bytes, bytes, list[str]], list[Any]]:
    """What `_rebuilt` takes."""
    (name, _, (code, bitcode)), about, environment, signature, objects, lifted, _, *rest = result._reduce()
    others = [about, environment, signature, objects, lifted, _NO_TEXT, *rest]
    linked = result.library._get_module_for_linking()
    symbols = (*linked.functions, *linked.global_variables)
    defined = sorted(symbol.name for symbol in symbols if not symbol.is_declaration)
    return (name, code, bitcode, defined), others


def load(path: Path, checksum: str, context: Any) -> Any:
    """A compiled kernel of a file; None if the file cannot be used, which is said."""
    rtsys.initialize(context)
    try:
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() != checksum:
            _warn(path, "its checksum is wrong")
            return None
        return _rebuilt(context, *pickle.loads(content))
    except Exception as error:  # what Numba no longer has may be missing in any way
        _warn(path, error)
        return None


def _rebuilt(context: Any, library: tuple[str, bytes, bytes, list[str]], others: list[Any]) -> Any:
    """As `numba.core.compiler.CompileResult._rebuild`, without parsing the code for the linker."""
    name, code, bitcode, defined = library
    about, environment, signature, objects, lifted, text, again, environments = others
    for start in again:
        start()
    made = _ShippedLibrary(context.codegen(), name)
    made.bitcode = bitcode
    made.enable_object_caching()
    made._set_compiled_object(code)
    made._finalize_final_module()
    made.codegen._engine._defined_symbols.update(defined)
    kind: Any = CompileResult  # whose parameters Numba makes of a list
    result = kind(
        target_context=context,
        typing_context=context.typing_context,
        library=made,
        environment=environment,
        entry_point=context.get_executable(made, about, environment),
        fndesc=about,
        type_annotation=text,
        signature=signature,
        objectmode=objects,
        lifted=lifted,
        typing_error=None,
        call_helper=None,
        metadata=None,
        reload_init=again,
        referenced_envs=environments,
    )
    for one in environments:
        made.codegen.set_env(one.env_name, one)
    return result


def _warn(path: Path, why: object) -> None:
    logger.warning("the compiled code %s cannot be used (%s); the kernel is compiled here", path, why)
