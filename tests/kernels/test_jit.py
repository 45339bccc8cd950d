"""Where compiled kernels are kept."""

from __future__ import annotations

import shutil
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
