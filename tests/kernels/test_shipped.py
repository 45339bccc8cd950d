"""Kernels that came compiled with the package: a small folder of them, written and read in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from livejoin.kernels import ship
from livejoin.kernels.compiling import shipped

KERNELS = """
from numba.core import types
from livejoin.kernels.compiling import shipped
from livejoin.kernels.values import nulls
from livejoin.kernels.relation import rows

LINE = types.Array(types.int64, 1, "C")
KERNELS = [(nulls.count_nulls, (LINE,)), (rows.rehash, (LINE, LINE, types.int64, types.int64))]
"""

WRITE = (
    KERNELS
    + """
import sys
from pathlib import Path
from livejoin.kernels import ship

print(ship.compile_into(Path(sys.argv[1]), KERNELS))
"""
)

READ = (
    KERNELS
    + """
import os, sys, warnings
from pathlib import Path
import numpy as np
from livejoin.words import NULL_CODE

folder = shipped.read(Path(sys.argv[1]))
shipped.shipped = lambda: folder


def use():
    for kernel, signature in KERNELS:
        kernel.compile(signature)
    column = np.array([1, NULL_CODE, 3, NULL_CODE], np.int64)
    compiled = sum(sum(kernel.stats.cache_misses.values()) for kernel, _ in KERNELS)
    loaded = sum(sum(kernel.stats.cache_hits.values()) for kernel, _ in KERNELS)
    print(int(nulls.count_nulls(column)), "compiled", compiled, "loaded", loaded, flush=True)


if "fork" in sys.argv:
    nulls.count_nulls.compile(KERNELS[0][1])
    warnings.simplefilter("ignore")  # Python 3.12 warns of a fork beside threads; kernels compile in one
    if os.fork() == 0:
        use()
        os._exit(0)
    os.wait()
use()
"""
)


def python(script: str, *words: object, **environment: str) -> tuple[list[str], str]:
    """The lines that a script prints, and what it says on standard error."""
    command = [sys.executable, "-c", script, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two kernels for every x86-64 processor."""
    made = tmp_path_factory.mktemp("wheel")
    generic = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": str(made / "cache")}
    assert python(WRITE, made / "compiled", **generic)[0] == ["2"]
    return made / "compiled"


def copy(folder: Path, to: Path, change: Any = None) -> Path:
    to.mkdir()
    for file in folder.iterdir():
        (to / file.name).write_bytes(file.read_bytes())
    if change is not None:
        index = json.loads((to / shipped.INDEX).read_text())
        change(index)
        (to / shipped.INDEX).write_text(json.dumps(index))
    return to


def test_what_came_is_loaded_and_nothing_is_compiled(folder: Path, tmp_path: Path) -> None:
    """In a process for this processor, from a folder that nobody may write to."""
    unwritable = copy(folder, tmp_path / "compiled")
    for path in (*unwritable.iterdir(), unwritable):
        path.chmod(0o555 if path.is_dir() else 0o444)
    printed, told = python(READ, unwritable, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    assert (printed, told) == (["2 compiled 0 loaded 2"], "")
    assert not list((tmp_path / "cache").rglob("*.nbi"))


def test_a_file_says_nothing_of_the_process_that_wrote_it(folder: Path) -> None:
    """Neither addresses nor places, so that a second build gives the same bytes."""
    files = [path for path in folder.iterdir() if path.suffix == ".code"]
    assert files
    for path in files:
        content = path.read_bytes()
        assert b" at 0x" not in content
        assert b"site-packages" not in content


def test_a_fork_uses_what_was_loaded_and_loads_more(folder: Path, tmp_path: Path) -> None:
    printed, told = python(READ, folder, "fork", NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    assert (printed, told) == (["2 compiled 0 loaded 2"] * 2, "")


def test_damaged_files_are_told_once_and_their_kernels_compiled(folder: Path, tmp_path: Path) -> None:
    damaged = copy(folder, tmp_path / "compiled")
    for file in damaged.glob("values.*.code"):
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        file.write_bytes(content)
    for file in damaged.glob("relation.*.code"):
        file.unlink()
    printed, told = python(READ, damaged, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    assert printed == ["2 compiled 2 loaded 0"]
    assert len(told.splitlines()) == 2 and "its checksum is wrong" in told and "No such file" in told


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"machine": 1}', b"\xff\xfe"])
def test_an_index_that_is_damaged_is_as_none(folder: Path, tmp_path: Path, content: bytes) -> None:
    damaged = copy(folder, tmp_path / "compiled")
    (damaged / shipped.INDEX).write_bytes(content)
    assert shipped.read(damaged) is None


def test_an_index_with_the_wrong_shape_is_as_none(folder: Path, tmp_path: Path) -> None:
    def cut(index: dict[str, Any]) -> None:
        index["sources"].popitem()
        index["sources"].popitem()
        for code in index["codes"].values():
            code[2].append(10_000)

    assert shipped.read(copy(folder, tmp_path / "compiled", cut)) is None
    assert shipped.read(tmp_path / "nothing") is None


@pytest.mark.parametrize("part", ["python", "numba", "system"])
def test_codes_for_another_machine_or_version_are_as_none(folder: Path, tmp_path: Path, part: str) -> None:
    assert shipped.read(copy(folder, tmp_path / "same")) is not None
    other = copy(folder, tmp_path / "compiled", lambda index: index["machine"].update({part: "another"}))
    assert shipped.read(other) is None


def test_an_edited_source_takes_no_old_code(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The kernel's own source, or one of those that it imports; kernels without it keep their code."""
    root = tmp_path / "livejoin"
    found = shipped.read(folder)
    assert found is not None
    nulls, rehash = sorted(found.codes, reverse=True)
    assert nulls.startswith("values.nulls.") and rehash.startswith("relation.rows.")
    for path in {path for code in found.codes.values() for path in code.sources}:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes((shipped.PACKAGE / path).read_bytes())
    monkeypatch.setattr(shipped, "PACKAGE", root)

    def fitting() -> list[bool]:
        shipped.digest_of.cache_clear()
        return [found.find(line) is not None for line in (nulls, rehash)]

    try:
        assert fitting() == [True, True]
        own = root / "kernels/relation/rows.py"
        before = own.read_bytes()
        own.write_bytes(before + b"\n")
        assert fitting() == [True, False]
        own.write_bytes(before)
        assert fitting() == [True, True]
        with (root / "kernels/memory/layout.py").open("ab") as callee:
            callee.write(b"\n")
        assert fitting()[1] is False
        (root / "words.py").unlink()
        assert fitting() == [False, False]
    finally:
        shipped.digest_of.cache_clear()


def test_the_sources_of_a_kernel_are_all_that_it_imports() -> None:
    """Told by what a process that imports the kernel alone has of livejoin's kernels."""
    script = (
        "import sys, livejoin.kernels.crown.maintain\nprint(*(m for m in sys.modules if m.startswith('livejoin.')))"
    )
    (line,), _ = python(script)
    files = set(ship.sources("livejoin.kernels.crown.maintain"))
    loaded = {name.removeprefix("livejoin.").replace(".", "/") for name in line.split()}
    for path in loaded:
        if path.startswith("kernels/") and not (shipped.PACKAGE / path / "__init__.py").is_file():
            assert f"{path}.py" in files
    assert {"kernels/jit.py", "kernels/compiling/linking.py"} <= files
    assert "words.py" in ship.sources("livejoin.kernels.values.nulls")
    assert not [path for path in files if path.startswith("kernels/bag/")]


def test_code_for_this_processor_alone_is_not_shipped(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="NUMBA_CPU_NAME=generic"):
        ship.compile_into(tmp_path / "compiled", [])
