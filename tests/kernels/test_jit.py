"""Where compiled kernels are kept."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from livejoin.kernels import jit
from livejoin.kernels.jit import cache_folder


@pytest.fixture(autouse=True)
def _fresh() -> object:
    cache_folder.cache_clear()
    yield
    cache_folder.cache_clear()


def test_the_folder_is_named_by_the_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    folder = cache_folder()
    assert folder.parent == tmp_path
    assert folder.is_dir()
    assert folder.name.startswith("kernels-")


def test_a_home_that_cannot_be_written_is_no_obstacle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("not a folder")
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(in_the_way))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = cache_folder()
    assert folder.is_dir()
    assert tmp_path in folder.parents


def test_an_edited_kernel_has_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one in a sub-folder, one that is new, and one that has only moved: else its callers keep the old code."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    sources = tmp_path / "kernels"
    shutil.copytree(Path(jit.__file__).parent, sources, ignore=shutil.ignore_patterns("__pycache__"))
    words = sources.with_name("words.py")
    shutil.copy(Path(jit.__file__).parents[1] / words.name, words)
    monkeypatch.setattr(jit, "__file__", str(sources / "jit.py"))
    names = [cache_folder().name]

    def renamed() -> str:
        cache_folder.cache_clear()
        names.append(cache_folder().name)
        return names[-1]

    assert renamed() == names[0]
    edited = sources / "memory" / "directory.py"
    edited.write_text(edited.read_text().replace("D_COUNT", "D_SLOTS"))
    assert renamed() not in names[:-1]
    (sources / "memory" / "deeper").mkdir()
    (sources / "memory" / "deeper" / "kernel.py").write_text("X = 1\n")
    assert renamed() not in names[:-1]
    (sources / "memory" / "deeper" / "kernel.py").rename(sources / "memory" / "kernel.py")
    assert renamed() not in names[:-1]
    words.write_text(words.read_text().replace("1 << 62", "1 << 61"))
    assert renamed() not in names[:-1]


SCRATCH = """
from typing import Any, NamedTuple

import numpy as np

from livejoin.kernels.jit import cache_folder, kernel
from livejoin.kernels.memory.addresses import opener
from livejoin.kernels.memory.arena import words
from livejoin.kernels.values.dictionary_view import pointers


class Line(NamedTuple):
    words: Any


opened = opener(Line)


@kernel
def of_array(array, at):
    return array[at]


@kernel
def of_arena(array, at):
    return words(array)[at]


@kernel
def into_arena(array, at):
    words(array)[at] = 0
    return 0


@kernel
def of_texts(array, at):
    return pointers((array, array, array, array, array))[3][at]


@kernel
def of_line(line, at):
    return opened(line).words[at]


def is_seen(call, array, at):
    array = np.array([array.ctypes.data, array.size]) if call is of_line else array
    try:
        call(array, at)
    except IndexError:
        return True
    return False


whole = np.arange(8)  # of which the kernels get a part, so that nothing worse can come of it
calls = [(call, at) for call in (of_array, of_arena, into_arena, of_texts, of_line) for at in (0, 3, 4)]
print(cache_folder().name, *(int(is_seen(call, whole[2:6], at)) for call, at in calls))
print(*(int(is_seen(call, whole[2:6], -1)) for call in (of_arena, into_arena, of_texts, of_line)))
"""


def test_bounds_are_checked_on_demand(tmp_path: Path) -> None:
    """In a mode of the whole process: a place outside of an array, of an arena, of a dictionary is an IndexError."""
    script = tmp_path / "scratch.py"
    script.write_text(SCRATCH)

    def seen(variable: str) -> tuple[str, list[str]]:
        environment = {**os.environ, "NUMBA_BOUNDSCHECK": variable, "NUMBA_CACHE_DIR": str(tmp_path)}
        command = [sys.executable, str(script)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        folder, *found = done.stdout.split()
        return folder, found

    checked, unchecked = seen("1"), seen("0")
    assert checked[1] == ["0", "0", "1"] * 5 + ["1"] * 4
    assert unchecked[1] == ["0"] * 19
    assert checked[0] != unchecked[0], "code of the two modes is kept apart"
