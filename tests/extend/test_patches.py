"""Each how-to of ``docs/extend`` is a patch that applies to this tree, and whose tests pass then.

`PATCHES` says which tests show the new thing; they run in a copy of the sources, with kernels as plain Python, since a
patch of a kernel would compile all of them anew. `make torture` also runs all tests that a patch touches, compiled, and
mypy and import-linter over the patched sources.

If a patch does not apply any more: ``git apply --3way docs/extend/NAME.patch``, mend what is in conflict, run the
tests, ``git add --all``, ``git diff --cached > docs/extend/NAME.patch``, and put the tree back.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXTEND = ROOT / "docs" / "extend"
COPIED = ("src", "tests", "docs", "examples", "pyproject.toml")
PATCHES = {
    "aggregate": ["tests/views/test_bool_xor.py"],
    "block": ["tests/views/test_frequent_rows.py"],
    "family": [
        "tests/families/test_a_new_family.py::test_it_is_planned_and_explained",
        "tests/families/test_a_new_family.py::test_it_runs[1-False]",
    ],
    "scalar-function": ["tests/views/test_hypot.py"],
    "source": [
        "tests/spark/test_sqlite_source.py::test_a_range_is_read_again_the_same",
        "tests/spark/test_sqlite_source.py::test_what_cannot_be_read_says_why",
    ],
    "sql-rewrite": ["tests/sql/test_passes.py::test_the_rewrite_is_what_the_text_behind_says"],
    "table-option": ["tests/views/test_max_rows.py", "tests/sql/test_table_settings.py"],
    "window-function": ["tests/views/test_running_bit_xor.py"],
}


def test_every_patch_has_a_page_and_tests_and_is_linked() -> None:
    found = {file.stem for file in EXTEND.glob("*.patch")}
    assert found == set(PATCHES)
    assert found == {file.stem for file in EXTEND.glob("*.md")}
    text = (ROOT / "CONTRIBUTING.md").read_text()
    for name in PATCHES:
        assert f"docs/extend/{name}.md" in text
        assert f"({name}.patch)" in (EXTEND / f"{name}.md").read_text()


@pytest.mark.parametrize("name", PATCHES)
def test_pages_name_the_files_of_their_patch(name: str) -> None:
    """Each file of the sources and tests that a page names is one of the patch, or is there."""
    text = (EXTEND / f"{name}.md").read_text()
    touched = {path for path, _ in _touched(name)}
    for path in re.findall(r"`((?:src|tests|docs)/[\w./-]+\.\w+)`", text):
        assert path in touched or (ROOT / path).exists(), path


@pytest.mark.parametrize("name", PATCHES)
def test_the_patch_applies(name: str, tmp_path: Path) -> None:
    """With no line of its context elsewhere or otherwise, and ruff has nothing to say of what it makes."""
    tree = _copied(tmp_path, name)
    _apply(tree, name)
    if find_spec("ruff") is None:  # among the oldest versions
        return
    files = [path for path, _ in _touched(name) if path.endswith(".py")]
    for command in (["check", "--no-cache"], ["format", "--check", "--no-cache"]):
        _run([sys.executable, "-m", "ruff", *command, *files], tree)


@pytest.fixture(scope="module")
def patched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree with every patch, one behind the other."""
    tree = _copied(tmp_path_factory.mktemp("patched"))
    for name in PATCHES:
        _apply(tree, name)
    return tree


def test_the_tests_of_all_patches_pass(patched: Path) -> None:
    selected = dict(PATCHES)
    if find_spec("pyspark.sql.streaming.datasource") is None:  # PySpark has it from 4.2 on
        del selected["source"]
    _pytest(patched, [test for tests in selected.values() for test in tests], {"NUMBA_DISABLE_JIT": "1"})


@pytest.mark.torture
@pytest.mark.parametrize("name", PATCHES)
def test_all_that_a_patch_touches_passes(name: str, tmp_path: Path) -> None:
    tree = _copied(tmp_path)
    _apply(tree, name)
    tests = [path for path, _ in _touched(name) if re.fullmatch(r"tests/.*/test_\w+\.py", path)]
    _pytest(tree, tests, {})
    sources = [path for path, _ in _touched(name) if path.startswith("src/")]
    _run([sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "mypy"), *sources], tree)
    _run([str(Path(sys.executable).with_name("lint-imports")), "--no-cache"], tree)


def _touched(name: str) -> list[tuple[str, str]]:
    """The files that a patch leaves, each with the file that it was before; empty for new ones."""
    found = re.findall(r"^--- (\S+)\n\+\+\+ b/(\S+)$", (EXTEND / f"{name}.patch").read_text(), re.MULTILINE)
    return [(path, "" if before == "/dev/null" else before.removeprefix("a/")) for before, path in found]


def _copied(folder: Path, only: str = "") -> Path:
    """A copy of the tree, or of the files that one patch changes."""
    tree = folder / "tree"
    tree.mkdir()
    if only:
        for before in filter(None, (before for _, before in _touched(only))):
            (tree / before).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / before, tree / before)
        for helper in (ROOT / "tests" / "support").glob("*.py"):  # ruff sorts imports by what is there
            (tree / helper.relative_to(ROOT)).parent.mkdir(parents=True, exist_ok=True)
            (tree / helper.relative_to(ROOT)).touch()
        shutil.copy2(ROOT / "pyproject.toml", tree)
        return tree
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(ROOT / name, tree)
    return tree


def _apply(tree: Path, name: str) -> None:
    """Apply a patch; git takes no line of its context otherwise, and no repository is needed."""
    _run(["git", "apply", "--whitespace=error", str(EXTEND / f"{name}.patch")], tree)


def _pytest(tree: Path, selected: list[str], settings: dict[str, str]) -> None:
    _run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *selected], tree, settings)


def _run(command: list[str], tree: Path, settings: dict[str, str] | None = None) -> None:
    """Run a command that sees the sources of a tree and no repository around it."""
    there = {"PYTHONPATH": str(tree / "src"), "GIT_CEILING_DIRECTORIES": str(tree.parent), **(settings or {})}
    done = subprocess.run(command, cwd=tree, env={**os.environ, **there}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
