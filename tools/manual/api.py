"""The API from docstrings, which are read and not run: building the manual imports nothing of livejoin.

```` ```{api} livejoin.Database ```` gives the class with its public members, in the order of the source;
```` ```{api} livejoin.errors ```` gives the public classes and functions of a module.
"""

from __future__ import annotations

import logging
import re
from functools import cache
from pathlib import Path
from typing import Any

import griffe
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

SOURCE = Path(__file__).parents[2] / "src"
_EXAMPLE = re.compile(r"^>>> .*?(?=^\s*$|\Z)", re.MULTILINE | re.DOTALL)
_SECTIONS = {
    griffe.DocstringSectionKind.parameters: "Parameters",
    griffe.DocstringSectionKind.raises: "Raises",
    griffe.DocstringSectionKind.returns: "Returns",
    griffe.DocstringSectionKind.yields: "Yields",
    griffe.DocstringSectionKind.attributes: "Attributes",
}


logging.getLogger("griffe").setLevel(logging.ERROR)  # tests/test_docstrings.py looks at docstrings


@cache
def _package() -> griffe.Module:
    found = griffe.load("livejoin", search_paths=[str(SOURCE)], docstring_parser="google", allow_inspection=False)
    assert isinstance(found, griffe.Module)
    return found


def _object(name: str) -> griffe.Object:
    found: griffe.Object | griffe.Alias = _package()
    for part in name.split(".")[1:]:
        found = found.all_members[part]
        if isinstance(found, griffe.Alias):
            found = found.final_target
    assert isinstance(found, griffe.Object)
    return found


class Api(SphinxDirective):
    """The directive."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Write Markdown of the object, and let it be parsed."""
        name = self.arguments[0]
        found = _object(name)
        for path in _files(found):
            self.env.note_dependency(str(path))
        return self.parse_text_to_nodes("\n".join(written(found, name, 8)))


def _files(found: griffe.Object) -> set[Path]:
    bases = found.mro() if isinstance(found, griffe.Class) else []
    return {one.filepath for one in (found, *bases) if isinstance(one.filepath, Path)}


def written(found: griffe.Object, name: str, ticks: int) -> list[str]:
    """An object and its public members as MyST; each level of nesting has fences of fewer ticks."""
    if isinstance(found, griffe.Module):
        lines = _docstring(found)
        for member in _members(found):
            lines += written(member, f"{name}.{member.name}", ticks - 1)
        return lines
    fence = "`" * ticks
    lines = [f"{fence}{{py:{_kind(found)}}} {name}{_signature(found)}", *_options(found), "", *_docstring(found)]
    if isinstance(found, griffe.Class) and not _is_error(found):
        for member in _members(found):
            lines += written(member, f"{name}.{member.name}", ticks - 1)
    return [*lines, fence, ""]


def _members(found: griffe.Module | griffe.Class) -> list[griffe.Object]:
    """Public members with docstrings, those of the bases in the package too, in the order of the source."""
    members: dict[str, griffe.Object] = {}
    for name, one in found.all_members.items():
        if name.startswith("_") and name not in ("__getitem__",):
            continue
        if isinstance(one, griffe.Alias) and isinstance(found, griffe.Module):
            continue  # imported
        meant = one.final_target if isinstance(one, griffe.Alias) else one
        if meant.docstring is not None and isinstance(meant, griffe.Object):
            members[name] = meant
    return sorted(members.values(), key=lambda one: (str(one.filepath), one.lineno or 0))


def _is_error(found: griffe.Class) -> bool:
    return found.name.endswith("Error")


def _kind(found: griffe.Object) -> str:
    if isinstance(found, griffe.Class):
        return "exception" if _is_error(found) else "class"
    if isinstance(found, griffe.Function):
        return "method" if isinstance(found.parent, griffe.Class) else "function"
    return "property" if "property" in found.labels else "attribute"


def _options(found: griffe.Object) -> list[str]:
    annotation = getattr(found, "annotation", None)
    lines = [f":type: {_plain(annotation)}"] if _kind(found) in ("property", "attribute") and annotation else []
    return lines + [f":{label}:" for label in ("classmethod", "staticmethod", "async") if label in found.labels]


def _plain(annotation: object) -> str:
    return re.sub(r"\s+", " ", str(annotation))


def _signature(found: griffe.Object) -> str:
    """Parameters with types, as the source has them."""
    function: griffe.Object | None = found
    if isinstance(found, griffe.Class):
        if _is_error(found) and "__init__" not in found.members:
            return ""
        function = found.all_members.get("__init__")  # type: ignore[assignment]
        if isinstance(function, griffe.Alias):
            function = function.final_target
    if not isinstance(function, griffe.Function):
        return ""
    shown, starred = [], False
    for one in function.parameters:
        if one.name in ("self", "cls"):
            continue
        kind = one.kind
        if kind is griffe.ParameterKind.keyword_only and not starred:
            shown.append("*")
            starred = True
        if kind is griffe.ParameterKind.var_positional:
            starred = True
        stars = {griffe.ParameterKind.var_positional: "*", griffe.ParameterKind.var_keyword: "**"}.get(kind, "")
        text = stars + one.name + (f": {_plain(one.annotation)}" if one.annotation is not None else "")
        if one.default is not None and not stars:
            text += f" = {_plain(one.default)}" if one.annotation is not None else f"={_plain(one.default)}"
        shown.append(text)
    gives = "" if isinstance(found, griffe.Class) or function.returns is None else f" -> {_plain(function.returns)}"
    return f"({', '.join(shown)}){gives}"


def _docstring(found: griffe.Object) -> list[str]:
    """The docstring as Markdown: text as it is, sections as lists, examples as code."""
    if found.docstring is None:
        return []
    lines: list[str] = []
    for section in found.docstring.parse("google", warn_unknown_params=False):
        if section.kind in _SECTIONS:
            lines += [f"**{_SECTIONS[section.kind]}**", ""]
            for item in section.value:
                name = getattr(item, "name", "") or ""
                if section.kind is griffe.DocstringSectionKind.raises:
                    name = str(item.annotation).strip("()")
                lines.append(f"- {f'`{name}`: ' if name else ''}{' '.join(item.description.split())}")
            lines.append("")
        elif section.kind is griffe.DocstringSectionKind.examples:
            for _, text in section.value:
                lines += [_with_examples(text), ""]
        elif section.kind is griffe.DocstringSectionKind.text:
            lines += [_with_examples(section.value), ""]
        else:
            lines += [_with_examples(str(getattr(section.value, "description", section.value))), ""]
    return lines


def _with_examples(text: str) -> str:
    return _EXAMPLE.sub(lambda match: f"```pycon\n{match[0].rstrip()}\n```\n", text)


def setup(app: Sphinx) -> dict[str, Any]:
    """Tell Sphinx."""
    app.add_directive("api", Api)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
