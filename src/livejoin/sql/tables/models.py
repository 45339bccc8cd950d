"""A folder of SQL files with ``ref()`` and ``source()``, as dbt has them: one file a view, named as the file.

``{{ ref('x') }}`` is the view of ``x.sql``, and ``{{ source('shop', 'orders') }}`` is the table ``orders``. Nothing
else of Jinja is read. The views come in an order in which each follows those that it reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from livejoin.errors import LivejoinError, PipelineError, SqlError
from livejoin.schema.names import backticked
from livejoin.shown import meant, shortened

_TEXT = r"""(?:'([^'"{}]+)'|"([^'"{}]+)")"""
_REF = re.compile(rf"\{{\{{-?\s*ref\s*\(\s*{_TEXT}\s*\)\s*-?\}}\}}")
_SOURCE = re.compile(rf"\{{\{{-?\s*source\s*\(\s*{_TEXT}\s*,\s*{_TEXT}\s*\)\s*-?\}}\}}")
_JINJA = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}|\{\{|\{%|\{#", re.DOTALL)
_CONFIG = re.compile(r"\{\{-?\s*config\b")
_NAME = re.compile(r"\{\{-?\s*(\w+)")
_UNDERSTOOD = "understood are {{ ref('view') }} and {{ source('name', 'table') }}"


def model_files(folder: Path) -> dict[str, Path]:
    """The file of each view, by its name in lower case.

    Args:
        folder: The folder; files that end in ``.sql`` count, also those in folders below.

    Raises:
        PipelineError: The folder has no such file, or two have one name.
    """
    files: dict[str, Path] = {}
    for path in sorted(folder.rglob("*.sql")):
        name = path.stem.lower()
        if name in files:
            msg = f"{str(files[name])!r} is a view of this name already; give each file a name of its own"
            raise PipelineError(msg, str(path))
        files[name] = path
    if not files:
        what = "has no file that ends in .sql" if folder.is_dir() else "is no folder"
        msg = f"{what}; models are SQL files, one a view"
        raise PipelineError(msg, str(folder))
    return files


def read_models(folder: Path) -> dict[str, str]:
    """The SQL of each view, in an order in which each follows those that it reads.

    What stands in a file at a line and column stands there in the SQL too, so that errors say where in the file.

    Args:
        folder: The folder, as for `model_files`.

    Raises:
        PipelineError: The folder has no such file, a file cannot be read, two have one name, one has what is not
            understood or reads a file that is not there, or files read one another in a circle.
    """
    files = model_files(folder)
    names = {key: path.stem for key, path in files.items()}
    texts, reads = {}, {}
    for key, path in files.items():
        text = _text(path)
        _refuse_other(text, path)
        found = [(_said(match), match.start()) for match in _REF.finditer(text)]
        for said, place in found:
            if said.lower() not in files:
                msg = f"there is no file {said}.sql for ref({said!r}){meant(said, names.values())}"
                raise PipelineError(msg, str(path), line=_line(text, place))
        reads[key] = [said.lower() for said, _ in found]
        text = _REF.sub(lambda match: _in_place(match, names[_said(match).lower()]), text)
        text = _SOURCE.sub(lambda match: _in_place(match, match[3] or match[4]), text)
        texts[key] = text.rstrip().removesuffix(";")
    return {names[key]: texts[key] for key in _ordered(reads, names, folder)}


def of_model(error: LivejoinError, path: Path) -> PipelineError:
    """The error of a view as one of its file, with the text that stands there, ``ref()`` and ``source()`` included."""
    if not isinstance(error, SqlError):
        return PipelineError(str(error), str(path))
    error.move(error.message, _text(path), error.line, error.column)
    return PipelineError(str(error), str(path), line=error.line)


def _ordered(reads: dict[str, list[str]], names: dict[str, str], folder: Path) -> Iterable[str]:
    try:
        return tuple(TopologicalSorter(reads).static_order())
    except CycleError as error:
        # Each one of the circle is read by the next.
        circle = " reads ".join(names[one] for one in reversed(error.args[1]))
        msg = f"the files read one another in a circle, so that none can be first: {circle}"
        raise PipelineError(msg, str(folder)) from None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        msg = f"cannot be read: {error}"
        raise PipelineError(msg, str(path)) from error


def _refuse_other(text: str, path: Path) -> None:
    """Refuse what of Jinja is neither a ``ref`` nor a ``source``."""
    for match in _JINJA.finditer(text):
        found = match[0]
        if _REF.fullmatch(found) or _SOURCE.fullmatch(found):
            continue
        if _CONFIG.match(found):
            advice = "each file is a view, without settings; leave it out"
        elif found.startswith("{#"):
            advice = "write a comment behind --"
        else:
            advice = f"{_UNDERSTOOD}; write the SQL out, as `dbt compile` does"
        name = _NAME.match(found)
        hint = meant(name[1], ("ref", "source")) if name else ""
        msg = f"{shortened(' '.join(found.split()))} is not understood{hint}: {advice}"
        raise PipelineError(msg, str(path), line=_line(text, match.start()))


def _in_place(match: re.Match[str], name: str) -> str:
    """A name with blanks behind it, so that all that follows stays where it is."""
    first, *others = match[0].split("\n")
    return backticked(name).ljust(len(first)) + "".join("\n" + " " * len(line) for line in others)


def _said(match: re.Match[str]) -> str:
    return match[1] or match[2]


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1
