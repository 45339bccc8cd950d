"""What livejoin ships and needs is free to use: licences of others lie beside their code, packages are permissive."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NEEDED = sorted(
    {
        re.split(r"[<>=;\[ ]", one)[0]
        for one in [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["serve"]]
        if not one.startswith("uvloop")  # on one Python alone
    }
)
OURS = {Path("livejoin/server/static/livejoin.js"), Path("livejoin/database/live/live.js")}
PERMISSIVE = re.compile(r"apache|bsd|mit\b|python software|psf|0bsd|zlib", re.IGNORECASE)
COPYLEFT = re.compile(r"\b(?:a?gpl|lgpl|gnu)\b", re.IGNORECASE)


def licence(name: str) -> str:
    """What a package says of its licence: the expression, the classifiers, or the first line of the field."""
    found = metadata.metadata(name)
    classifiers = [one for one in found.get_all("Classifier") or () if one.startswith("License ::")]
    return found.get("License-Expression") or " ".join(classifiers) or (found.get("License") or "").split("\n")[0]


@pytest.mark.parametrize("name", NEEDED)
def test_packages_that_come_with_it_are_permissive(name: str) -> None:
    said = licence(name)
    assert PERMISSIVE.search(said), said
    assert not COPYLEFT.search(said), said


def test_licences_lie_beside_what_others_made() -> None:
    """A file of scripts or styles that is not ours has its licence in a file beside it; all of them are known here."""
    bundled = {path.parent for path in (ROOT / "src").rglob("*.js") if path.relative_to(ROOT / "src") not in OURS}
    assert bundled == {ROOT / "src" / "livejoin" / "server" / "static" / "console"}
    for folder in bundled:
        text = (folder / "LICENSES.txt").read_text()
        assert all(word in text for word in ("Permission is hereby granted", "regular-table", "codemirror"))
    assert PROJECT["license-files"] == ["LICENSE", "src/livejoin/server/static/console/LICENSES.txt"]
    assert "Apache License" in (ROOT / "LICENSE").read_text()


def test_the_citation_has_the_version() -> None:
    assert f"\nversion: {PROJECT['version']}\n" in (ROOT / "CITATION.cff").read_text()
