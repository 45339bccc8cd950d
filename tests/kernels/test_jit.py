"""Where compiled kernels are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

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
