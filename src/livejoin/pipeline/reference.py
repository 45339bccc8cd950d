"""All keys of a pipeline file in tables, from the models that read it, for ``docs/pipeline-file.md``.

The meaning of a key is in the docstring of its model, once; types and defaults are those of the model's fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from inspect import cleandoc
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt
from pydantic import AfterValidator, BaseModel
from pydantic.fields import FieldInfo

from livejoin.pipeline import model as m

BEGIN = "## `[tables.NAME]`: files"
"""The heading with which the tables begin on the page."""
_SECTIONS: tuple[tuple[str, str, type[BaseModel]], ...] = (
    (BEGIN, "Files of rows or of changes, which Spark reads as a stream.", m.TableSource),
    ("## `[tables.NAME]`: a Delta table", "A Delta table as it is, and then its change data feed.", m.DeltaTableSource),
    ("## `[tables.NAME]`: a topic of Kafka", "The messages of a topic.", m.KafkaTableSource),
    ("## `[tables.NAME]`: a table of PostgreSQL", "A table of one of the `[servers]`.", m.ServerTable),
    ("## `[servers.NAME]`", "A PostgreSQL database whose changes come by logical replication.", m.PostgresServer),
    ("## `[views.NAME]`", "One of the two keys.", m.ViewText),
    ("## `[sink]`: Parquet files", "", m.ParquetOutput),
    ("## `[sink]`: tables of PostgreSQL", "", m.PostgresOutput),
    ("## `[sink]`: Delta tables", "", m.DeltaOutput),
    ("## `[sink]`: tables of a Spark catalog", "", m.TableOutput),
    ("## `[sink]`: topics of Kafka", "", m.KafkaOutput),
    ("## `[sink]`: the terminal", "", m.ConsoleOutput),
    ("## `[run]`", "", m.RunSettings),
)
_CHECKED = {
    "_trigger": "`available-now`, or an interval as `10 seconds`",
    "_range": "a column and a range, as `at 1 HOUR`",
    "_bytes": "`4GB`, `512MiB`, or a number of bytes",
}


def markdown() -> str:
    """The tables, with their headings."""
    return "\n".join(line for section in _SECTIONS for line in _section(*section))


def _section(heading: str, text: str, model: type[BaseModel]) -> Iterator[str]:
    yield from (heading, "")
    if text:
        yield from (text, "")
    yield from ("| key | value | default | meaning |", "|---|---|---|---|")
    meanings = _meanings(model)
    for name, field in m.own_first(model).items():
        value, meaning = _annotated(field.annotation, *field.metadata), _meaning(name, field.annotation, meanings)
        yield f"| `{field.alias or name}` | {value} | {_default(field)} | {meaning} |"
    yield ""


def _meanings(model: type[BaseModel]) -> dict[str, str]:
    """The meanings of a model's fields from its docstring and those of its base models.

    >>> _meanings(m.ConsoleOutput)
    {'rows': 'The most rows of a delta that are shown.'}
    """
    found: dict[str, str] = {}
    name = ""
    said = [
        cleandoc(one.__doc__ or "").partition("Args:\n")[2]  # Python 3.13 cleans it already
        for one in reversed(model.__mro__)
        if issubclass(one, BaseModel)
    ]
    for line in "\n".join(said).splitlines():
        if begin := re.match(r" {4}(\w+): (.*)", line):
            name = begin[1]
            found[name] = begin[2]
        elif name and line.strip():
            found[name] += f" {line.strip()}"
    return {name: text.replace("``", "`") for name, text in found.items()}


def _meaning(name: str, hint: Any, meanings: dict[str, str]) -> str:
    """The meaning of a key, in a cell of a table.

    Raises:
        KeyError: The docstring of the model lacks the key.
    """
    values = get_args(hint) if get_origin(hint) is Literal else ()
    if len(values) == 1 and name not in meanings:
        return "Says that it is this one."
    text = re.sub(r"^Key `\w+`: (.)", lambda found: found[1].upper(), meanings[name])
    return text.replace("|", r"\|")


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "needed"
    match field.get_default(call_default_factory=True):
        case None:
            return ""
        case bool() as value:
            return f"`{str(value).lower()}`"
        case dict() | list() as value:
            assert not value, "other defaults have no way to be written here"
            return "none"
        case value:
            return f"`{value}`"


def _value(hint: Any) -> str:
    """The values that a key takes, as text.

    >>> _value(Literal["a", "b"] | None), _value(dict[str, str])
    ('`a` or `b`', 'a table of texts')
    """
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _annotated(*parts)
    if origin in (Union, UnionType):
        found = [_value(part) for part in parts if part is not NoneType]
        return " or ".join(dict.fromkeys(found))
    if origin is Literal:
        *first, last = (f"`{part}`" for part in parts)
        return f"{', '.join(first)} or {last}" if first else last
    if origin is list:
        return f"a list of {_several(parts[0])}"
    if origin is dict:
        return f"a table of {_several(parts[1])}"
    return {str: "text", bool: "`true` or `false`", int: "a whole number", float: "a number"}[hint]


def _several(hint: Any) -> str:
    return "texts" if hint is str else "values"


def _annotated(kind: Any, *conditions: object) -> str:
    """A type with the checks of its values."""
    for condition in conditions:
        match condition:
            case AfterValidator():
                return _CHECKED[getattr(condition.func, "__name__", "")]
            case Gt(gt=0):
                return f"{_value(kind)} from 1 on"
            case Ge(ge=0):
                return f"{_value(kind)} from 0 on"
            case _:
                continue
    return _value(kind)
