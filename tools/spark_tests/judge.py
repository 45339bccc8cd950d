"""Whether livejoin's answer is the one that Spark recorded."""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import sqlglot
from sqlglot import exp

from livejoin.errors import CapacityError, ChangeError, ExpressionError, LivejoinError, UnknownNameError

from .answers import Answer, TookTooLongError, built_up, over_all_rows
from .hive_text import type_pattern
from .otherwise import error_otherwise, otherwise
from .recorded import Recorded
from .session import Absent, Session, Table, View
from .settings import other_meaning

_FRACTION = re.compile(r"-?\d+\.\d+(E-?\d+)?")

Kind = Literal["right", "right error", "refused", "more", "not comparable", "not run", "wrong", "crashed"]


@dataclass(frozen=True)
class Verdict:
    """What became of a query.

    Args:
        kind: Whether it is right.
        reason: Why not; of what is right whether it was built up by commits.
        found: What was found, to be shown.
    """

    kind: Kind
    reason: str = ""
    found: str = ""


def judge(recorded: Recorded, session: Session, seed: str) -> Verdict:
    """Run a query in both ways, and compare it with what Spark recorded."""
    verdict = _judged(recorded, session, seed)
    views = [one for name in session.named(recorded.sql) if isinstance(one := session.relations[name], View)]
    setting = other_meaning(session.settings) or next((view.setting for view in views if view.setting), None)
    if setting is not None and verdict.kind in ("wrong", "more"):
        return Verdict("not comparable", f"by the setting {setting}", verdict.found)
    return verdict


def _judged(recorded: Recorded, session: Session, seed: str) -> Verdict:
    names = session.named(recorded.sql)
    for name in names:
        relation = session.relations[name]
        if isinstance(relation, Absent):
            return Verdict("not run", f"a table that could not be made: {plain(relation.reason)}")
    has_rows = any(isinstance(session.relations[name], Table) for name in names)
    ways = [lambda: over_all_rows(session, names, recorded.sql)]
    if has_rows:
        ways.append(lambda: built_up(session, names, recorded.sql, random.Random(seed)))
    for place, way in enumerate(ways):
        try:
            verdict = _compared(recorded, way())
        except LivejoinError as error:
            verdict = _failed(recorded, error)
        except TookTooLongError:
            verdict = Verdict("not run", "it took longer than a minute")
        except Exception as error:  # whatever it is, it is what the report is for
            verdict = Verdict("crashed", type(error).__name__, f"{type(error).__name__}: {str(error)[:300]}")
        if verdict.kind != "right":
            way_name = "" if place == 0 else "built up: "
            return Verdict(verdict.kind, verdict.reason, way_name + verdict.found)
    return Verdict("right", "built up by commits" if has_rows else "constants alone")


def _failed(recorded: Recorded, error: LivejoinError) -> Verdict:
    if recorded.error is not None:
        return Verdict("right error", type(error).__name__)
    message = str(error).splitlines()[0]
    if isinstance(error, UnknownNameError) and "there is no table" in message:
        return Verdict("not run", "a table that the file does not make")
    if isinstance(error, (ExpressionError, CapacityError, ChangeError)):
        why = error_otherwise(recorded, message)
        if why is not None:
            return Verdict("not comparable", why, message)
        return Verdict("wrong", f"fails: {plain(message)}", f"{type(error).__name__}: {message}")
    return Verdict("refused", f"{type(error).__name__}: {plain(message)}", message)


def _compared(recorded: Recorded, answer: Answer) -> Verdict:
    if recorded.error is not None:
        return Verdict("more", recorded.error, f"{answer.rows[:5]}")
    wanted = recorded.output.split("\n") if recorded.output else []
    if difference := _difference(wanted, _lines(answer.rows), answer):
        why = otherwise(recorded, answer)
        return Verdict("wrong", "rows", difference) if why is None else Verdict("not comparable", why, difference)
    if difference := _order_difference(recorded, wanted, answer):
        return Verdict("wrong", "order", difference)
    if not re.fullmatch(f"struct<{','.join(_column_patterns(answer))}>", recorded.schema, re.S):
        return Verdict("wrong", "types", f"{recorded.schema}, and here {', '.join(map(str, answer.types))}")
    return Verdict("right")


def _column_patterns(answer: Answer) -> Iterator[str]:
    """A regular expression for each column as Spark's schema has it: any name, and the type.

    A column without a value has any type: NULL is VOID in Spark, and what is made of it something that Spark chooses.
    """
    for kind, column in zip(answer.types, answer.table.columns, strict=True):
        is_void = column.null_count == len(column) > 0
        yield ".*:.*" if is_void else f".*:{type_pattern(kind, column.type)}"


def _lines(rows: Sequence[str]) -> list[str]:
    text = "\n".join(sorted(rows)).replace("\r", "\n").rstrip()
    return text.split("\n") if text else []


def _difference(wanted: Sequence[str], found: Sequence[str], answer: Answer) -> str | None:
    """How two multisets of lines differ; None if they do not, but for the last digits of numbers."""
    more, left = Counter(found) - Counter(wanted), list((Counter(wanted) - Counter(found)).elements())
    floats = [kind.kind == "double" and kind.bits == 32 for kind in answer.types]
    extra = []
    for line in more.elements():
        same = next((other for other in left if is_close(line, other, floats)), None)
        if same is None:
            extra.append(line)
        else:
            left.remove(same)
    return f"has {extra[:4]}, lacks {left[:4]}" if extra or left else None


def is_close(one: str, other: str, floats: Sequence[bool] = ()) -> bool:
    """Whether two lines are the same but for the last digits of numbers with a fraction.

    Args:
        one: A line.
        other: Another one.
        floats: Which of the columns are FLOATs: before Java 19 the text of some has a digit too many.

    >>> is_close("a\\t0.30000000000000004", "a\\t0.3"), is_close("1", "2")
    (True, False)
    """
    cells, others = one.rstrip("\t ").split("\t"), other.rstrip("\t ").split("\t")
    marks = floats if len(floats) == len(cells) else [False] * len(cells)
    return len(cells) == len(others) and all(map(_is_close_cell, cells, others, marks))


def _is_close_cell(one: str, other: str, is_float: bool = False) -> bool:
    if one == other:
        return True
    if not (_FRACTION.fullmatch(one) and _FRACTION.fullmatch(other)):
        return False
    if is_float:
        return bool(np.float32(one) == np.float32(other))
    return math.isclose(float(one), float(other), rel_tol=1e-11, abs_tol=1e-300)


def _order_difference(recorded: Recorded, wanted: Sequence[str], answer: Answer) -> str | None:
    """How the order of rows differs in the columns that the query orders by first; None if it does not, or if no order
    is asked for."""
    keys = _order_keys(recorded.sql)
    if not keys or len(wanted) != len(answer.rows):
        return None
    names = [name.lower() for name in answer.table.column_names]
    places = []
    for shown in keys:
        if isinstance(shown, exp.Literal) and not shown.is_string and 0 < int(shown.this) <= len(names):
            places.append(int(shown.this) - 1)
        elif isinstance(shown, exp.Column) and names.count(shown.name.lower()) == 1:
            places.append(names.index(shown.name.lower()))
        else:
            break
    for number, (row, line) in enumerate(zip(answer.rows, wanted, strict=True)):
        cells, others = row.split("\t"), line.split("\t")
        for place in places:
            if place < min(len(cells), len(others)) and not _is_close_cell(cells[place], others[place]):
                return f"row {number} in the order is {row!r}, not {line!r}"
    return None


def _order_keys(sql: str) -> list[exp.Expr]:
    """What the rows of a query are ordered by."""
    try:
        order = sqlglot.parse_one(sql, dialect="spark").args.get("order")
    except sqlglot.errors.SqlglotError:
        return []
    return [key.this for key in order.expressions] if order else []


def plain(message: str) -> str:
    """A message without what differs from query to query: names in quotes, numbers."""
    return re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`|\b\d[\d,]*(?:\.\d+)?\b", "_", message)[:140]
