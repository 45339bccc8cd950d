"""Rows that a filter drops do not fail because of what stands beside what drops them (`livejoin.query.filters`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeAlias

import pytest

import livejoin
from livejoin.errors import ExpressionError
from strategies import EXAMPLES

Row: TypeAlias = tuple[int | None, str | None, int | None, int]
Result: TypeAlias = Callable[[Iterable[Row]], list[tuple[object, ...]]]
COLUMNS = "k INT, s STRING, a INT, id INT"


class Failed(Exception):
    """A condition has no value for a row."""


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT u FROM (SELECT upper(s) AS u FROM R WHERE k > 0) q WHERE u = 5", []),
        ("SELECT a FROM (SELECT a FROM R WHERE k > 0) q WHERE 10 / a > 1", [(1,)]),
        ("SELECT a FROM R WHERE k > 0 AND 10 / a > 1", [(1,)]),
        ("SELECT a FROM R WHERE 10 / a > 1 AND k > 0", [(1,)]),
        ("SELECT a FROM R WHERE NOT (k <= 0 OR 10 / a < 1)", [(1,)]),
        ("SELECT a FROM R WHERE k BETWEEN 1 AND 3 AND 10 / a > 1", [(1,)]),
        ("SELECT a FROM R WHERE k IN (1, NULL) AND 10 / a > 1", [(1,)]),
        ("SELECT max(a) AS a FROM R GROUP BY id HAVING max(k) > 0 AND 10 / sum(a) > 1", [(1,)]),
        ("SELECT t FROM (SELECT id, max(k) AS m, sum(a) AS t FROM R GROUP BY id) q WHERE m > 0 AND 10 / t > 1", [(1,)]),
        ("SELECT a FROM (SELECT a, k FROM R ORDER BY id LIMIT 9) q WHERE k > 0 AND 10 / a > 1", [(1,)]),
        ("SELECT a FROM (SELECT a, k FROM R UNION SELECT a, k FROM R) q WHERE k > 0 AND 10 / a > 1", [(1,)]),
        ("SELECT sum(a) FILTER (WHERE k > 0 AND 10 / a > 1) AS t FROM R", [(1,)]),
        ("SELECT count(*) FILTER (WHERE k > 0 AND 10 / a > 1) AS n FROM R", [(1,)]),
        ("SELECT count(10 / a) FILTER (WHERE k > 0) AS n FROM R", [(1,)]),
        ("SELECT count(*) FILTER (WHERE R.k > 0 AND 10 / R.a > 1) AS n FROM R JOIN R S ON R.id = S.id", [(1,)]),
        (
            "SELECT id FROM R QUALIFY row_number() OVER (PARTITION BY k ORDER BY id) = 1 AND k > 0 AND 10 / a > 1",
            [(2,)],
        ),
        ("SELECT 10 / a AS t FROM R QUALIFY row_number() OVER (PARTITION BY k ORDER BY id) = 1 AND k > 0", [(10.0,)]),
        ("SELECT sum(CAST(R.s AS INT)) AS t FROM R JOIN R S ON R.id = S.id + 1", [(2,)]),
        ("SELECT S.k, count(10 / R.a) AS n FROM R JOIN R S ON R.id = S.id + 1 GROUP BY S.k", [(None, 1)]),
        ("SELECT count(*) FILTER (WHERE 10 / R.a > 1) AS n FROM R JOIN R S ON R.id = S.id + 1", [(1,)]),
    ],
)
def test_a_dropped_row_does_not_fail(sql: str, rows: list[tuple[object, ...]]) -> None:
    """All of these Spark 4.3 answers so, over a file; the second row is kept and the first one is not."""
    db = livejoin.Database()
    db.create_table("R", COLUMNS)
    view = db.create_view("v", sql)
    given = [(None, "abc", 0, 1), (1, "2", 1, 2)]
    for _ in range(2):
        db.apply("R", given)
        assert [tuple(row.values()) for row in view.to_arrow().to_pylist()] == rows
        db.apply("R", _changes((), given))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a FROM R WHERE k > 0 OR 10 / a > 1",
        "SELECT a FROM R WHERE (k > 0 AND 10 / a > 1) OR id = 3",
        "SELECT 10 / a FROM R WHERE id = 1",
        "SELECT a FROM R WHERE id = 1 AND 10 / a > 1",
        "SELECT a FROM R WHERE CAST(s AS INT) > 0 AND 10 / a > 1",
    ],
)
def test_what_no_conjunct_drops_fails(sql: str) -> None:
    """As in Spark; a commit that fails changes nothing."""
    db = livejoin.Database()
    db.create_table("R", COLUMNS)
    view = db.create_view("v", sql)
    with pytest.raises(ExpressionError):
        db.apply("R", [(None, "abc", 0, 1)])
    assert view.count() == db.stats()["tables"]["R"]["rows"] == 0


def test_conditions_that_duckdb_evaluates_leave_the_meaning_of_others_as_it_is() -> None:
    """DuckDB rounds where Spark cuts, so that only what DuckDB alone can say is evaluated there."""
    db = livejoin.Database()
    db.create_table("R", "a INT, x DOUBLE")
    views = [
        db.create_view("plain", "SELECT x FROM R WHERE concat_ws('-', 'a', 'b') = 'a-b' AND CAST(x AS INT) = 2"),
        db.create_view(
            "groups",
            "SELECT x FROM (SELECT x, array_agg(a) AS l FROM R GROUP BY x) q WHERE CAST(x AS INT) = 2 AND size(l) = 1",
        ),
        db.create_view("having", "SELECT x FROM R GROUP BY x HAVING CAST(x AS INT) = 2 AND size(array_agg(a)) = 1"),
    ]
    db.apply("R", [(1, 1.7), (1, 2.2), (2, None)])
    assert [view.to_arrow()["x"].to_pylist() for view in views] == [[2.2]] * 3
    db.apply("R", [{"a": 1, "x": 2.2, "_change_type": "delete"}, {"a": 3, "x": 2.9, "_change_type": "insert"}])
    assert [view.to_arrow()["x"].to_pylist() for view in views] == [[2.9]] * 3


def _changes(come: Sequence[Row], gone: Sequence[Row]) -> list[dict[str, object]]:
    names = ("k", "s", "a", "id", "_change_type")
    changes = [(*row, "insert") for row in come] + [(*row, "delete") for row in gone]
    return [dict(zip(names, change, strict=True)) for change in changes]


@dataclass(frozen=True)
class Condition:
    """A condition over columns k, s, a and id, as SQL and by its definition; that raises `Failed` for errors."""

    sql: str
    holds: Callable[[Row], bool | None]


def _quotient(row: Row) -> float | None:
    if row[2] == 0:
        raise Failed
    return None if row[2] is None else 10 / row[2]


def _number(row: Row) -> int | None:
    if row[1] is not None and not row[1].isdigit():
        raise Failed
    return None if row[1] is None else int(row[1])


def _sum(row: Row) -> int | None:
    if row[2] is not None and row[2] + 2147483640 > 2147483647:
        raise Failed
    return None if row[2] is None else row[2] + 2147483640


def _more(value: float | None, than: float) -> bool | None:
    return None if value is None else value > than


def _condition(random: Random) -> Condition:
    than = random.randint(-1, 2)
    choices = [
        Condition(f"k > {than}", lambda row: _more(row[0], than)),
        Condition(f"a <> {than}", lambda row: None if row[2] is None else row[2] != than),
        Condition("s LIKE '1%'", lambda row: None if row[1] is None else row[1].startswith("1")),
        Condition("k IS NOT NULL", lambda row: row[0] is not None),
        Condition(f"(k > {than}) IS TRUE", lambda row: _more(row[0], than) is True),
        Condition(f"k IN ({than}, NULL)", lambda row: True if row[0] == than else None),
        Condition(f"10 / a > {than}", lambda row: _more(_quotient(row), than)),
        Condition(f"CAST(s AS INT) > {than}", lambda row: _more(_number(row), than)),
        Condition(f"upper(s) > {than}", lambda row: _more(_number(row), than)),
        Condition(f"a + 2147483640 > {than}", lambda row: _more(_sum(row), than)),
    ]
    return random.choice(choices)


def _disjunction(random: Random) -> Condition:
    """NOT (p OR q) drops as NOT p AND NOT q does; p OR q alone stops at TRUE."""
    one, other = _condition(random), _condition(random)

    def holds(row: Row) -> bool | None:
        first = one.holds(row)
        if first:
            return True
        second = other.holds(row)
        return True if second else None if None in (first, second) else False

    return Condition(f"({one.sql} OR {other.sql})", holds)


def _kept(row: Row, conditions: Sequence[Condition]) -> tuple[bool, bool]:
    """Whether all conditions are true for a row, and whether an evaluation fails that stops at one that is not."""
    values: list[bool | None] = []
    for condition in conditions:
        try:
            values.append(condition.holds(row))
        except Failed:
            return False, True
        if values[-1] is not True:
            return False, False
    return True, False


@dataclass(frozen=True)
class Case:
    """A query over R, and the conditions of its levels from within; ``result`` is of the rows that they keep."""

    sql: str
    conditions: tuple[Condition, ...]
    result: Result


def _where(conditions: Sequence[Condition]) -> str:
    return " AND ".join(one.sql for one in conditions)


def _shown(kept: Iterable[Row]) -> list[tuple[object, ...]]:
    return [(row[0], row[3]) for row in kept]


def _counted(kept: Iterable[Row]) -> list[tuple[object, ...]]:
    return [(len(list(kept)),)]


def _added(kept: Iterable[Row]) -> list[tuple[object, ...]]:
    numbers = [row[3] for row in kept]
    return [(sum(numbers) if numbers else None,)]


def _grouped(kept: Iterable[Row]) -> list[tuple[object, ...]]:
    return _shown(set(kept))


def _case(random: Random) -> Case:
    conditions = [random.choice((_condition, _condition, _disjunction))(random) for _ in range(random.randint(2, 5))]
    kind = random.choice(("plain", "nested", "filter", "sum", "sorted", "join", "having"))
    cut = random.randint(1, len(conditions) - 1)
    inner, outer = _where(conditions[:cut]), _where(conditions[cut:])
    rows: Result = _shown
    match kind:
        case "plain":
            sql = f"SELECT k, id FROM R WHERE {inner} AND {outer}"
        case "nested":
            sql = f"SELECT k, id FROM (SELECT k, s || '' AS s, a + 0 AS a, id FROM R WHERE {inner}) q WHERE {outer}"
        case "filter":
            sql = f"SELECT count(*) FILTER (WHERE {inner} AND {outer}) AS n FROM R"
            rows = _counted
        case "sum":
            sql = f"SELECT sum(id) FILTER (WHERE {outer}) AS n FROM R WHERE {inner}"
            rows = _added
        case "sorted":
            sql = f"SELECT k, id FROM (SELECT * FROM R WHERE {inner} ORDER BY id LIMIT 999) q WHERE {outer}"
        case "join":
            sql = f"SELECT q.k, q.id FROM (SELECT * FROM R WHERE {inner}) q JOIN D ON q.id = D.id WHERE {outer}"
        case _:
            sql = f"SELECT k, id FROM R GROUP BY k, s, a, id HAVING {inner} AND {outer}"
            rows = _grouped
    return Case(sql, tuple(conditions), rows)


def _row(random: Random) -> Row:
    return (
        random.choice((None, -1, 0, 1, 2)),
        random.choice((None, "1", "12", "x", "1x")),
        random.choice((None, 0, 1, 3, 8)),
        random.randint(0, 2),
    )


@pytest.mark.parametrize("seed", range(EXAMPLES))
def test_random_filters(seed: int) -> None:
    """A commit fails only if an evaluation that stops fails for a row; what it does not refuse is right."""
    random = Random(seed)
    case = _case(random)
    db = livejoin.Database()
    db.create_table("R", COLUMNS)
    db.create_table("D", "id INT")
    db.apply("D", [(0,), (1,), (2,)])
    view = db.create_view("v", case.sql)
    rows: list[Row] = []
    for _ in range(8):
        gone = random.sample(range(len(rows)), random.randint(0, len(rows) // 2))
        come = [_row(random) for _ in range(random.randint(0, 4))]
        after = [row for i, row in enumerate(rows) if i not in gone] + come
        try:
            db.apply("R", _changes(come, [rows[i] for i in gone]))
        except ExpressionError:
            assert any(_kept(row, case.conditions)[1] for row in after), case.sql
        else:
            rows = after
        kept = [row for row in rows if _kept(row, case.conditions)[0]]
        found = Counter(tuple(row.values()) for row in view.to_arrow().to_pylist())
        assert found == Counter(case.result(kept)), case.sql
