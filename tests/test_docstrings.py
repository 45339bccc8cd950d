"""Docstrings say what a thing is: each entry begins with a noun, names an argument that exists, and stands once."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[1] / "src" / "livejoin"
SECTIONS = ("Args:", "Attributes:", "Raises:", "Returns:", "Yields:")
ENTRY = re.compile(r" {4}(\*{0,2}\w+(?:, \*{0,2}\w+)*): +(\S.*)")

# "condition: It, resolved." says less than "condition: The condition, resolved."
PRONOUN = re.compile(
    r"(?:It|Its|They|Their|Them|Those|That|These|Ones|Whose|Which one|So many)\b(?!-)"
    r"|(?:This|One) (?:of|that|is|has|are|was|were|it|they|the|a|an)\b|What (?!happens (?:to|if)\b)"
)

pytestmark = pytest.mark.xdist_group("docstrings")  # all sources are read once

Node = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def test_entries_begin_with_a_noun() -> None:
    found = [f"{place}: {name}: {text}" for place, _, _, name, text in _entries() if PRONOUN.match(text)]
    assert not found, "say the noun again:\n" + "\n".join(found)


def test_arguments_are_those_of_the_function() -> None:
    found = [
        f"{place}: {name}"
        for place, there, section, names, _ in _entries()
        if section == "Args:" and there
        for name in names.split(", ")
        if name.lstrip("*") not in there
    ]
    assert not found, "no such parameter or field:\n" + "\n".join(found)


def test_entries_and_sections_stand_once() -> None:
    seen = [(place, section, name) for place, _, section, name, text in _entries() if section != "Raises:"]
    seen += [(place, section, text) for place, _, section, _, text in _entries() if section == "Raises:"]
    assert len(seen) == len(set(seen)), sorted({one for one in seen if seen.count(one) > 1})
    for place, _, lines in _docstrings():
        sections = [line for line in lines if line in SECTIONS]
        assert len(sections) == len(set(sections)), (place, sections)


def test_what_counts_as_a_pronoun() -> None:
    assert PRONOUN.match("Its name.")
    assert PRONOUN.match("What it keeps.")
    assert PRONOUN.match("That of the table.")
    assert not PRONOUN.match("What happens to conflicts.")
    assert not PRONOUN.match("One-based line of the key.")
    assert not PRONOUN.match("The table's name.")


@cache
def _docstrings() -> list[tuple[str, set[str], list[str]]]:
    """Each docstring of a file with sections: its place, the parameters that it may name, and its lines."""
    return [
        (f"{file.relative_to(SOURCES).as_posix()}:{node.body[0].lineno}", _parameters(node), text.splitlines())
        for file in sorted(SOURCES.rglob("*.py"))
        if any(section in (source := file.read_text()) for section in SECTIONS)
        for node in _documented(ast.parse(source))
        if (text := ast.get_docstring(node))
    ]


def _documented(node: Node) -> Iterator[Node]:
    """A module, and the classes and functions in it at any depth."""
    yield node
    for part in node.body:
        if isinstance(part, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _documented(part)


def _entries() -> Iterator[tuple[str, set[str], str, str, str]]:
    """Each entry of a section: its place, the parameters there, the section, the names and the text."""
    for place, there, lines in _docstrings():
        section = ""
        for line in lines:
            if line in SECTIONS:
                section = line
            elif line and not line.startswith(" "):
                section = ""
            elif section in SECTIONS[:3] and (entry := ENTRY.fullmatch(line)):
                yield place, there, section, entry[1], entry[2]


def _parameters(node: Node) -> set[str]:
    """The parameters of a function, or the fields of a class and the parameters of its constructor.

    Empty if a class has other ones, which it inherits.
    """
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        given = node.args
        some = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
        return {one.arg for one in some if one is not None}
    if isinstance(node, ast.Module) or [
        base for base in node.bases if ast.unparse(base) not in {"NamedTuple", "Protocol"}
    ]:
        return set()
    fields = {
        part.target.id for part in node.body if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
    }
    for part in node.body:
        if isinstance(part, ast.FunctionDef) and part.name in {"__init__", "__new__"}:
            fields |= _parameters(part)
    return fields
