"""What is known of the tables before a plan is chosen: changes, sizes, distinct keys, shares that pass a predicate.

Every figure is given by the user, observed, or unknown. Observed figures come from the first buffered changes (CROWN,
end of section 6: "If N(e) is unavailable, we can estimate it by observing (and buffering) the first few updates") or
from rows that are there already; the latter say nothing about changes, because a table that was loaded once may never
change again. Statistics are plain values that can be stored, so that a plan is a function of query and statistics.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from livejoin.catalog import Catalog
from livejoin.changes import ChangeBatch
from livejoin.errors import SchemaError
from livejoin.kernels.values.distinct import mark_keys
from livejoin.query import ConjunctiveQuery
from livejoin.schema import Table
from livejoin.words import NULL_CODE, Words

Known = Literal["given", "observed", "unknown"]

_COUNTED = 1 << 14  # rows up to which keys are counted one by one


@dataclass(frozen=True)
class Figure:
    """A number and where it is from.

    Args:
        value: The number, at least 0; None if it is unknown.
        known: Where it is from.
    """

    value: float | None = None
    known: Known = "unknown"


UNKNOWN = Figure()


@dataclass(frozen=True)
class TableStatistics:
    """Statistics of one table.

    Args:
        table: The table's name.
        changes: Changes in some span of time, the same for all tables.
        rows: Rows, with their multiplicities.
        distinct: For sets of columns, positions ascending, how many distinct keys the rows have.
        passing: For predicates as in `livejoin.query.Atom`, the share of the changes that pass.
    """

    table: str
    changes: Figure = UNKNOWN
    rows: Figure = UNKNOWN
    distinct: tuple[tuple[tuple[int, ...], Figure], ...] = ()
    passing: tuple[tuple[str, Figure], ...] = ()

    def distinct_of(self, columns: Sequence[int]) -> Figure:
        """Distinct keys in a set of columns."""
        return dict(self.distinct).get(tuple(sorted(columns)), UNKNOWN)

    def passing_of(self, predicate: str) -> Figure:
        """Share of the changes for which a predicate is true."""
        return dict(self.passing).get(predicate, UNKNOWN)


@dataclass(frozen=True)
class Statistics:
    """Statistics of the tables; tables that are not named have none.

    Args:
        tables: The statistics of each table.
        preprocessing_limit: The most rows that static tables may be joined to before changes come, in one static bag;
            None leaves it to the planner. A plan depends on it as on the figures.

    >>> Statistics().of("G").rows
    Figure(value=None, known='unknown')
    """

    tables: tuple[TableStatistics, ...] = ()
    preprocessing_limit: int | None = None

    def of(self, table: str) -> TableStatistics:
        """What is known of a table."""
        wanted = table.lower()
        return next((t for t in self.tables if t.table.lower() == wanted), TableStatistics(table))

    def over(self, other: Statistics) -> Statistics:
        """These figures, and those of ``other`` where these are unknown; the limit likewise."""
        names = {t.table.lower(): t.table for t in (*other.tables, *self.tables)}
        limit = other.preprocessing_limit if self.preprocessing_limit is None else self.preprocessing_limit
        return Statistics(tuple(_over(self.of(name), other.of(name)) for name in names.values()), limit)

    def given_alone(self) -> Statistics:
        """The figures that a user gave, and the limit."""

        def of(figure: Figure) -> Figure:
            return figure if figure.known == "given" else UNKNOWN

        tables = (
            TableStatistics(
                one.table,
                of(one.changes),
                of(one.rows),
                tuple((columns, figure) for columns, figure in one.distinct if figure.known == "given"),
                tuple((predicate, figure) for predicate, figure in one.passing if figure.known == "given"),
            )
            for one in self.tables
        )
        return Statistics(tuple(tables), self.preprocessing_limit)

    def moved(self, table: str, places: Mapping[int, int], to: str) -> Statistics:
        """The same figures of a table whose columns have other positions; those of columns that are gone are left out.

        Args:
            table: The table's name.
            places: The new position of each column that stays.
            to: The name of the table now.
        """

        def of(one: TableStatistics) -> TableStatistics:
            if one.table.lower() != table.lower():
                return one
            stay = [(columns, figure) for columns, figure in one.distinct if places.keys() >= set(columns)]
            distinct = ((tuple(sorted(places[column] for column in old)), figure) for old, figure in stay)
            return replace(one, table=to, distinct=tuple(distinct))

        return replace(self, tables=tuple(map(of, self.tables)))

    def plain(self) -> list[dict[str, Any]]:
        """The figures as JSON values; `from_plain` reads them."""
        return [asdict(table) for table in self.tables]

    @staticmethod
    def from_plain(values: Iterable[Mapping[str, Any]]) -> Statistics:
        """Statistics from the JSON values that `plain` made.

        >>> some = given(Catalog(), {})
        >>> Statistics.from_plain(some.plain()) == some
        True
        """
        return Statistics(
            tuple(
                TableStatistics(
                    value["table"],
                    Figure(**value["changes"]),
                    Figure(**value["rows"]),
                    tuple((tuple(columns), Figure(**figure)) for columns, figure in value["distinct"]),
                    tuple((predicate, Figure(**figure)) for predicate, figure in value["passing"]),
                )
                for value in values
            )
        )


def given(catalog: Catalog, tables: Mapping[str, Mapping[str, Any]]) -> Statistics:
    """Statistics that a user writes down.

    Args:
        catalog: The tables.
        tables: For each table a mapping with any of ``changes``, ``rows`` (numbers), ``distinct`` (from column names,
            separated by commas, to numbers) and ``passing`` (from predicates to shares between 0 and 1).

    Raises:
        SchemaError: A table, column or figure that is not there or not possible.

    >>> from livejoin.sql import parse_columns
    >>> catalog = Catalog()
    >>> catalog.add(parse_columns("G", "src BIGINT, dst BIGINT"))
    >>> given(catalog, {"G": {"rows": 100, "distinct": {"src": 20}}}).of("g").distinct_of([0])
    Figure(value=20, known='given')
    """
    _check_mapping(tables, "statistics", "from tables to their figures")
    result = []
    for name, figures in tables.items():
        table = catalog[name]
        _check_mapping(figures, f"statistics of table {name!r}", "from changes, rows, distinct and passing")
        for part, of in (("distinct", "from columns to numbers"), ("passing", "from predicates to shares")):
            _check_mapping(figures.get(part, {}), f"{part} of table {name!r}", of)
        unknown = set(figures) - {"changes", "rows", "distinct", "passing"}
        if unknown:
            allowed = "changes, rows, distinct and passing"
            msg = f"statistics of table {name!r} have {', '.join(map(repr, sorted(unknown)))}; allowed are {allowed}"
            raise SchemaError(msg)
        distinct = []
        for columns, count in figures.get("distinct", {}).items():
            positions = sorted(table.position(column.strip()) for column in columns.split(","))
            distinct.append((tuple(positions), _given(table, f"distinct {columns!r}", count)))
        passing = [(p, _given(table, f"share of {p!r}", share, 1)) for p, share in figures.get("passing", {}).items()]
        changes, rows = (
            _given(table, part, figures[part]) if part in figures else UNKNOWN for part in ("changes", "rows")
        )
        result.append(TableStatistics(table.name, changes, rows, tuple(distinct), tuple(passing)))
    return Statistics(tuple(result))


def observe(batches: Iterable[ChangeBatch], query: ConjunctiveQuery) -> Statistics:
    """Statistics from the first buffered changes: changes a table, rows and distinct keys that they leave.

    Cost: O(changes), in Arrow.
    """
    of_table: dict[str, list[ChangeBatch]] = {}
    for batch in batches:
        of_table.setdefault(batch.table.name, []).append(batch)
    result = []
    for name, mine in of_table.items():
        changes = sum(batch.weights.shape[0] for batch in mine)
        inserted = pa.concat_tables([batch.rows.filter(pa.array(batch.weights > 0)) for batch in mine])
        net = max(0, int(sum(np.sum(batch.weights) for batch in mine)))
        seen = _observed(mine[0].table, inserted, net, query)
        result.append(TableStatistics(name, Figure(changes, "observed"), seen.rows, seen.distinct))
    return Statistics(tuple(result))


def observe_rows(
    tables: Iterable[tuple[Table, Words, int]],
    query: ConjunctiveQuery,
    counted: Sequence[tuple[str, tuple[int, ...]]] = (),
) -> Statistics:
    """Statistics from the rows that tables have now: sizes and distinct keys, nothing about changes.

    Cost: O(rows) of large tables, whose distinct keys are counted to a few parts in a thousand; O(rows log rows) of
    small ones.

    Args:
        tables: Each table with its distinct rows, words of shape (columns, n) that are equal where values are, and the
            number of its rows with their multiplicities.
        query: The query, whose join keys are counted.
        counted: Tables with other sets of columns, positions ascending, that are counted too.
    """
    result = []
    for table, words, total in tables:
        others = (columns for name, columns in counted if name == table.name)
        number = _about_distinct if words.shape[1] > _COUNTED else _distinct
        sets = sorted({*key_columns(query, table.name), *others})
        distinct = [(columns, Figure(number(words, columns), "observed")) for columns in sets]
        result.append(TableStatistics(table.name, UNKNOWN, Figure(total, "observed"), tuple(distinct)))
    return Statistics(tuple(result))


def _distinct(words: Words, columns: Sequence[int]) -> int:
    """How many distinct keys rows have in some columns; NULL is in none, as such rows join nothing."""
    keys = words[list(columns)]
    return int(np.unique(keys[:, (keys != NULL_CODE).all(axis=0)], axis=1).shape[1])


def _about_distinct(words: Words, columns: Sequence[int]) -> int:
    """As `_distinct`, about: by the places of a map, as many as rows or more, that no key has."""
    log = min(32, (words.shape[1] - 1).bit_length())
    places = np.zeros(1 << log, np.uint8)
    mark_keys(words, np.array(columns, np.int64), NULL_CODE, log, places)
    free = places.shape[0] - int(np.count_nonzero(places))
    return int(places.shape[0] * math.log(places.shape[0] / max(free, 1)) + 0.5)


def key_columns(query: ConjunctiveQuery, table: str) -> tuple[tuple[int, ...], ...]:
    """Sets of a table's columns on which the query may join: what its atoms share with one other atom each."""
    sets = {
        tuple(sorted(atom.column_of(v) for v in query.edges[i] & query.edges[j]))
        for i, atom in enumerate(query.atoms)
        for j in range(len(query.atoms))
        if i != j and atom.table.name == table
    }
    return tuple(sorted(s for s in sets if s))


def _observed(table: Table, rows: pa.Table, total: int, query: ConjunctiveQuery) -> TableStatistics:
    distinct = []
    for columns in key_columns(query, table.name):
        # Rows with NULL in a join column join nothing.
        keys = pa.table([rows.column(c) for c in columns], names=[str(c) for c in columns]).drop_null()
        count = pc.count_distinct(keys.column(0)).as_py() if len(columns) == 1 else _groups(keys)
        distinct.append((columns, Figure(count, "observed")))
    return TableStatistics(table.name, UNKNOWN, Figure(total, "observed"), tuple(distinct))


def _groups(keys: pa.Table) -> int:
    return int(keys.group_by(keys.column_names).aggregate([]).num_rows)


def _check_mapping(value: object, what: str, allowed: str) -> None:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        msg = f"{what}: found {value!r:.80}; allowed is a mapping {allowed}"
        raise SchemaError(msg)


def _given(table: Table, what: str, value: object, most: float = float("inf")) -> Figure:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= most:
        allowed = "a share between 0 and 1" if most == 1 else "a number that is not negative"
        msg = f"statistics of table {table.name!r}: {what} is {value!r}; allowed is {allowed}"
        raise SchemaError(msg)
    return Figure(value, "given")


def _over(first: TableStatistics, second: TableStatistics) -> TableStatistics:
    return TableStatistics(
        first.table,
        first.changes if first.changes.value is not None else second.changes,
        first.rows if first.rows.value is not None else second.rows,
        tuple(sorted({**dict(second.distinct), **dict(first.distinct)}.items())),
        tuple(sorted({**dict(second.passing), **dict(first.passing)}.items())),
    )
