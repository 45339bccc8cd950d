"""Makes a failing life smaller, step by step, as long as it fails in the same way."""

from __future__ import annotations

import re
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import duckdb

from nested_lives import Bad, Commit, Conflicts, Create, Life, Replay, Step, repaired
from nested_sql import Combined, Definition, Query, Select, Source, With, blocks, columns

Failure = tuple[str, str, str]


def failure(run: Callable[[Life], object], life: Life) -> Failure | None:
    """How a life fails: the error's type, where it was raised, and its text without names and numbers.

    None if all is well, or if DuckDB itself refuses a query.
    """
    try:
        run(life)
    except duckdb.Error:
        return None
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        text = re.sub(r"\W*\b(v\d+|change \d+.*|[\d,.]+)\b", "", str(error).partition("\n")[0])
        return type(error).__name__, last.name, text.partition(":")[0][:60]
    return None


def reduced(run: Callable[[Life], object], life: Life, seconds: float = 60) -> Life:
    """A smaller life that fails as the given one does, as far as the time goes.

    Args:
        run: Lives a life and raises if something is wrong.
        life: One that fails.
        seconds: When to stop.
    """
    wanted = failure(run, life)
    end = time.monotonic() + seconds
    improved = wanted is not None
    while improved:
        improved = False
        for smaller in _smaller_lives(life):
            if time.monotonic() > end:
                return life
            candidate = repaired(smaller)
            if candidate != life and failure(run, candidate) == wanted:
                life = candidate
                improved = True
                break
    return life


def _smaller_lives(life: Life) -> Iterator[Life]:
    """Lives with something left out, large pieces first."""
    steps = life.steps
    size = len(steps) // 2
    while size:
        # The last steps first: what follows the failure is of no use.
        for start in range(len(steps) - size, -1, -size):
            yield replace(life, steps=steps[:start] + steps[start + size :])
        size //= 2
    if life.threads > 1:
        yield replace(life, threads=1)
    for place, step in enumerate(steps):
        for smaller in _smaller_steps(step):
            yield replace(life, steps=(*steps[:place], smaller, *steps[place + 1 :]))
    for place, table in enumerate(life.tables):
        others = (*life.tables[:place], *life.tables[place + 1 :])
        yield replace(life, tables=others, steps=tuple(s for s in steps if not _mentions(s, table.name)))
        for plain in ({"static": False}, {"window_rows": None}, {"window_range": None}, {"primary_key": ()}):
            simple = replace(table, **plain)  # type: ignore[arg-type]
            if simple != table:
                yield replace(life, tables=(*life.tables[:place], simple, *life.tables[place + 1 :]))


def _mentions(step: Step, table: str) -> bool:
    match step:
        case Create(view):
            return table in view.reads
        case Commit(changes) | Replay(changes) | Conflicts(changes):
            return any(c.table == table for c in changes)
        case Bad(changes, culprit):
            return any(c.table == table for c in (*changes, culprit))
        case _:
            return False


def _smaller_steps(step: Step) -> Iterator[Step]:
    match step:
        case Create(view):
            for option in ({"deltas": True}, {"algorithm": "auto"}, {"adaptive": False}):
                simple = replace(view, **option)  # type: ignore[arg-type]
                if simple != view:
                    yield replace(step, view=simple)
            for query in smaller(view.query):
                yield replace(step, view=replace(view, query=query))
        case Commit(changes) | Replay(changes) | Bad(changes) | Conflicts(changes):
            if isinstance(step, Commit) and step.form != "arrow":
                yield replace(step, form="arrow")
            if isinstance(step, Replay | Conflicts):
                yield Commit(changes)
            for fewer in _fewer(changes):
                yield replace(step, changes=fewer)


def _fewer(items: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    """The items without half of them, without a quarter, ..., without one."""
    size = (len(items) + 1) // 2
    while size:
        for start in range(0, len(items), size):
            yield (*items[:start], *items[start + size :])
        size = 0 if size == 1 else (size + 1) // 2


def smaller(query: Query) -> Iterator[Query]:
    """Queries with something left out; they may name what is not there any more."""
    yield from list(blocks(query))[1:]
    match query:
        case Select():
            yield from _smaller_selects(query)
        case Combined():
            if query.order is not None:
                yield replace(query, order=None)
            for left in smaller(query.left):
                yield replace(query, left=left)
            for right in smaller(query.right):
                yield replace(query, right=right)
            shown = min(len(columns(query.left)), len(columns(query.right)))
            for number in range(shown if shown > 1 else 0):
                both = [_without(side, number) for side in (query.left, query.right)]
                if both[0] is not None and both[1] is not None:
                    yield Combined(query.word, both[0], both[1])
        case With():
            for number, each in enumerate(query.definitions):
                others = (*query.definitions[:number], *query.definitions[number + 1 :])
                yield replace(query, definitions=others) if others else query.body
                for inner in smaller(each.query):
                    found = columns(inner)
                    if not each.renamed or len(found) == len(each.columns):
                        defined = Definition(each.name, inner, each.columns if each.renamed else found, each.renamed)
                        yield replace(query, definitions=_at(query.definitions, number, defined))
            for body in smaller(query.body):
                if isinstance(body, Select | Combined):
                    yield replace(query, body=body)


def _smaller_selects(query: Select) -> Iterator[Query]:
    for fewer in _fewer(query.sources):
        if fewer:
            yield replace(query, sources=(replace(fewer[0], on=(), joined=False, using=()), *fewer[1:]))
    for option in ({"order": None}, {"having": None}, {"distinct": False}, {"star": ""}):
        simple = replace(query, **option)  # type: ignore[arg-type]
        if simple != query:
            yield simple
    for where in _fewer(query.where):
        yield replace(query, where=where)
    for items in _fewer(query.items):
        if items and not query.star:
            yield replace(query, items=items)
    if query.groups is not None and len(query.groups) > 1:
        for groups in _fewer(query.groups):
            yield replace(query, groups=groups)
    for number, source in enumerate(query.sources):
        if source.using:
            yield replace(query, sources=_at(query.sources, number, replace(source, using=())))
        if isinstance(source.of, str):
            continue
        for inner in smaller(source.of):
            found = columns(inner)
            if not source.renamed or len(found) == len(source.columns):
                changed: Source = replace(source, of=inner, columns=source.columns if source.renamed else found)
                yield replace(query, sources=_at(query.sources, number, changed))


def _without(query: Query, column: int) -> Query | None:
    """The query without one of its outputs, None if that is not easily done."""
    match query:
        case Select(star="", order=None):
            return replace(query, items=(*query.items[:column], *query.items[column + 1 :]))
        case Combined(order=None):
            left, right = _without(query.left, column), _without(query.right, column)
            return None if left is None or right is None else Combined(query.word, left, right)
        case With():
            body = _without(query.body, column)
            return replace(query, body=body) if isinstance(body, Select | Combined) else None
        case _:
            return None


def _at(items: tuple[Any, ...], place: int, item: object) -> tuple[Any, ...]:
    return (*items[:place], item, *items[place + 1 :])
