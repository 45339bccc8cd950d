"""The generator of nested queries by itself: DuckDB takes all that it draws, and it draws what it says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random

import exact_functions
from nested_lives import Bad, Conflicts, Create, Drop, Life, Reload, Replay, State, Step, life, possible, repaired
from nested_queries import Maker, Named
from nested_reduce import reduced
from nested_sql import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    Column,
    Combined,
    Query,
    Select,
    With,
    blocks,
    columns,
    decimal,
    depth,
    written,
)
from oracle import own_instance

SCOPE = (
    Named("R", (Column("a", INT), Column("b", INT), Column("c", STRING)), 7.0),
    Named("S", (Column("a", INT), Column("b", BIGINT), Column("d", DOUBLE)), 7.0),
    Named("T", (Column("a", STRING), Column("b", DATE), Column("c", decimal(9, 2)), Column("d", BOOLEAN)), 7.0),
)
QUERIES = 300
LIVES = 300


def drawn() -> list[Query]:
    """Some queries of up to four levels."""
    return [Maker(Random(seed)).query(1 + seed % 4, SCOPE) for seed in range(QUERIES)]


def test_duckdb_takes_every_query() -> None:
    """Its columns have the names and the types that the generator thinks they have."""
    connection = own_instance()
    exact_functions.register(connection)
    for table in SCOPE:
        listed = ", ".join(f"{c.name} {c.kind.sql}" for c in table.columns)
        connection.execute(f"CREATE TABLE {table.name} ({listed})")
    for query in drawn():
        found = connection.sql(written(query, plain=True))
        named = {"INTEGER": "INT", "VARCHAR": "STRING"}
        types = [named.get(str(kind), str(kind)).replace(",", ", ") for kind in found.types]
        expected = [(c.name, c.kind.sql) for c in columns(query)]
        assert list(zip(found.columns, types, strict=True)) == expected, written(query, plain=True)


def test_all_sorts_of_queries_are_drawn() -> None:
    seen: Counter[str] = Counter()
    for query in drawn():
        seen.update(_features(query))
    wanted = (
        *("rows", "distinct", "groups", "one group", "hidden group", "having", "order", "hidden key", "star", "where"),
        *(f"{kind}{keep}" for kind in ("UNION", "EXCEPT", "INTERSECT") for keep in ("", " ALL")),
        *(
            "WITH",
            "shared WITH",
            "using",
            "self-join",
            "sub-query",
            "renamed",
            "join over groups",
            "groups over groups",
        ),
        *("level 1", "level 2", "level 3", "level 4"),
        *("COUNT(*)", "COUNT(DISTINCT", "SUM(", "AVG(", "MIN(", "MAX(", "BOOL_AND(", "BOOL_OR("),
        *("VARIANCE(", "VAR_POP(", "STDDEV(", "STDDEV_POP(", "SUM(DISTINCT", "FILTER"),
    )
    assert [name for name in wanted if seen[name] < 3] == []


def _features(query: Query) -> Iterator[str]:
    yield f"level {min(depth(query), 4)}"
    text = written(query)
    for name in ("COUNT(*)", "COUNT(DISTINCT", "SUM(", "AVG(", "MIN(", "MAX(", "BOOL_AND(", "BOOL_OR(", "FILTER"):
        yield from [name] * (name in text)
    for name in ("VARIANCE(", "VAR_POP(", "STDDEV(", "STDDEV_POP(", "SUM(DISTINCT"):
        yield from [name] * (name in text)
    for block in blocks(query):
        match block:
            case Select():
                yield from _of_select(block)
            case Combined():
                yield block.word
            case With():
                yield "WITH"
                names = [s.of for part in blocks(block) if isinstance(part, Select) for s in part.sources]
                yield from ["shared WITH"] * any(names.count(d.name) > 1 for d in block.definitions)


def _of_select(select: Select) -> Iterator[str]:
    inner = [s.of for s in select.sources if not isinstance(s.of, str)]
    grouped = any(isinstance(i, Select) and i.groups is not None for i in inner)
    names = [s.of for s in select.sources if isinstance(s.of, str)]
    keys = select.order.keys if select.order else ()
    shown = {item.value.text for item in select.items}
    found = {
        "rows": select.groups is None,
        "distinct": select.distinct,
        "groups": bool(select.groups),
        "one group": select.groups == (),
        "hidden group": any(g.text not in shown for g in select.groups or ()),
        "having": select.having is not None,
        "order": select.order is not None,
        "hidden key": any("." in k.text for k in keys),
        "star": bool(select.star),
        "where": bool(select.where),
        "using": any(s.using for s in select.sources),
        "self-join": len(set(names)) < len(names),
        "sub-query": bool(inner),
        "renamed": any(s.renamed for s in select.sources),
        "join over groups": grouped and len(select.sources) > 1,
        "groups over groups": grouped and select.groups is not None,
    }
    yield from (name for name, there in found.items() if there)


def test_all_sorts_of_steps_are_drawn() -> None:
    seen: Counter[object] = Counter()
    for seed in range(LIVES):
        whole = life(seed)
        names: set[str] = set()
        seen.update(type(step).__name__ for step in whole.steps)
        for table in whole.tables:
            seen.update(k for k in ("primary_key", "window_rows", "window_range", "static") if getattr(table, k))
        seen["threads"] += whole.threads > 1
        for step in whole.steps:
            seen.update(_sorts(step, names))
    wanted = (
        *("Create", "Drop", "Commit", "Replay", "Bad", "Conflicts", "Reload", "Read"),
        *("primary_key", "window_rows", "window_range", "static", "threads"),
        *("AbsentRowError", "DuplicateKeyError", "ExpressionError", "ChangeError", "cascade", "no cascade", "adaptive"),
        *("no deltas", "view over view", "level 4", "change", "commit", "other threads", "reads a fragile view"),
    )
    assert [name for name in wanted if seen[name] < 3] == []


def _sorts(step: Step, fragile: set[str]) -> Iterator[str]:
    match step:
        case Create(view, failing):
            yield from ["no deltas"] * (not view.deltas) + ["adaptive"] * view.adaptive
            yield from ["view over view"] * any(name.startswith("v") for name in view.reads)
            yield from ["reads a fragile view"] * bool(view.reads & fragile)
            yield f"level {min(4, depth(view.query))}"
            if failing:
                fragile.add(view.name)
        case Drop(_, cascade):
            yield "cascade" if cascade else "no cascade"
        case Bad():
            yield step.error
        case Replay() | Conflicts():
            yield step.granularity
        case Reload(threads):
            yield from ["other threads"] * (threads > 1)
        case _:
            return


def test_a_life_is_possible() -> None:
    """A drawn life needs no repair, and one without its first commit is made possible."""
    for seed in range(LIVES):
        whole = life(seed)
        assert repaired(whole) == whole
        state = State.of(whole.tables)
        for step in repaired(Life(whole.tables, whole.steps[1:])).steps:
            assert possible(step, state) is not None
        compile(whole.script(), "script", "exec")


def test_a_failing_life_is_reduced() -> None:
    """What has nothing to do with a failure goes: here a row of S, of which every life with a view over S has some."""

    def fails(whole: Life) -> None:
        reading = any(isinstance(step, Create) and "S" in step.view.reads for step in whole.steps)
        inserted = [c for s in whole.steps for c in getattr(s, "changes", ()) if (c.table, c.kind) == ("S", "insert")]
        assert not (reading and inserted), "a row of S under a view"

    whole = next(w for w in map(life, range(LIVES)) if _failed(fails, w))
    small = reduced(fails, whole)
    assert _failed(fails, small)
    assert [type(step).__name__ for step in small.steps if isinstance(step, Create)] == ["Create"]
    assert sum(len(getattr(step, "changes", ())) for step in small.steps) == 1
    assert len(small.steps) == 2


def _failed(run: object, whole: Life) -> bool:
    try:
        run(whole)  # type: ignore[operator]
    except AssertionError:
        return True
    return False
