"""Where caches and sockets lie: also for a user without a home, and nowhere that others could write to."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from livejoin import own_folders
from livejoin.kernels import jit


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path / f"livejoin-{os.getuid()}"


@pytest.fixture
def homeless(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable says where home is, and no entry in the list of users."""
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)

    def unknown() -> Path:
        msg = "Could not determine home directory."
        raise RuntimeError(msg)

    monkeypatch.setattr(Path, "home", unknown)


def test_a_user_without_a_home_has_no_cache_of_his_own(homeless: None, temporary: Path) -> None:
    assert own_folders.cache_folder() is None
    jit.cache_folder.cache_clear()
    try:
        assert jit.cache_folder().parent == temporary
    finally:
        jit.cache_folder.cache_clear()


def test_the_folder_for_what_is_temporary_is_the_users_alone(temporary: Path) -> None:
    assert own_folders.temporary_folder() == temporary
    assert temporary.stat().st_mode & 0o777 == 0o700
    temporary.chmod(0o755)  # as versions before made it
    assert own_folders.temporary_folder() == temporary
    assert temporary.stat().st_mode & 0o777 == 0o700


def test_one_that_others_can_write_to_is_not_used(homeless: None, temporary: Path, tmp_path: Path) -> None:
    temporary.mkdir()
    temporary.chmod(0o777)
    assert own_folders.temporary_folder() is None
    temporary.rmdir()
    (tmp_path / "elsewhere").mkdir()
    temporary.symlink_to(tmp_path / "elsewhere")
    assert own_folders.temporary_folder() is None
    jit.cache_folder.cache_clear()
    try:
        folder = jit.cache_folder()
    finally:
        jit.cache_folder.cache_clear()
    assert folder.is_dir()
    assert temporary not in folder.parents
