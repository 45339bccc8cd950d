"""A maintained view: reading its rows, its deltas and its figures."""

from __future__ import annotations

import datetime as dt
import json
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, get_args

import pyarrow as pa

from livejoin.changes import Coerce
from livejoin.database import notebook, reading
from livejoin.database.analyzed import Began, analyzed, begin, end, seen_of
from livejoin.database.arguments import check_number, check_seconds, check_switch, check_word
from livejoin.database.live.first_rows import FirstRows
from livejoin.database.reading import Row
from livejoin.database.snapshots.declaration import ViewImage
from livejoin.database.sorted_rows import sorted_rows
from livejoin.database.tally import Tally
from livejoin.database.transactions.assertions import asserts
from livejoin.database.transactions.guard import Guard, alone
from livejoin.database.transactions.subscribers import Callback, ErrorHandler, Subscribers
from livejoin.database.versions import pairs
from livejoin.database.versions.following import WAITING, WHEN_FULL, Changes, Waiting, WhenFull
from livejoin.database.versions.images import Images, table_of, words_of
from livejoin.database.versions.past import Past
from livejoin.database.versions.readable import Readable
from livejoin.database.versions.rolling import insertions
from livejoin.database.versions.rows_at import RowsAt
from livejoin.database.versions.shape import Shape, shape_of
from livejoin.database.versions.shared_read import Pieces, SharedRead
from livejoin.dataflow.batches import Batches
from livejoin.dataflow.blocks.block import Change
from livejoin.dataflow.deltas.arrow_delta import delta_schema
from livejoin.dataflow.deltas.repeated import repeated
from livejoin.dataflow.deltas.view_delta import MemoryDelta, ViewDelta
from livejoin.dataflow.graph import Graph
from livejoin.dataflow.moving.forms import LEFT_OUT, leaves_out
from livejoin.dataflow.node import Node
from livejoin.dataflow.of_view import of_view
from livejoin.dataflow.reading.access import Access
from livejoin.errors import AbsentIndexError, ReadError
from livejoin.expressions import ibis_table
from livejoin.families.sizes import exactly
from livejoin.plan import Explanation, Statistics, describe_query
from livejoin.plan.explain.describing.query import MaintainedJoin
from livejoin.plan.operators import AnyJoin, BagOperator, Operator
from livejoin.query.bound_query import Query
from livejoin.query.keys import keys
from livejoin.query.relational import Project, Relation, TopK
from livejoin.schema import Assertion, SqlType
from livejoin.search.algorithm import Algorithm
from livejoin.sql import names_read
from livejoin.state.scratch import Scratch
from livejoin.words import Words

if TYPE_CHECKING:
    from livejoin.database.estimating import Estimate
    from livejoin.database.lineage.found import Why, WhyNot
    from livejoin.database.live.cell import LiveView

KEYS = "livejoin.keys"
"""Where the metadata of a delta's schema has the view's keys."""

_BATCH = 65536
_EPOCH = dt.datetime(1970, 1, 1)
_MOST_ROWS = (1 << 63) - 1
_PAIRED = 8  # columns of which it tries pairs
_TRIED = 32  # columns that a refused look-up tries for the message
_MOST_WAITING = 1_000_000
_MOST_LIVE = 1000
_LONGEST_PATIENCE = 3600.0


@dataclass(frozen=True)
class ViewOptions:
    """How a view is maintained.

    Args:
        deltas: Whether commits carry the view's delta.
        algorithm: The algorithm for joins that was asked for.
        adaptive: Whether joins may move to other join trees.
        statistics: The statistics that the plan was chosen by.
        allow_product: Whether a condition may compare tables that no equality connects.
        assertion: How it is asserted that the view has no rows; None if it is not.
        begins: The start of its first window, in microseconds since 1970, if its table had freed rows before it was
            made; else None.
    """

    deltas: bool
    algorithm: Algorithm
    adaptive: bool
    statistics: Statistics
    allow_product: bool = False
    assertion: Assertion | None = None
    begins: int | None = None


class View(Readable):
    """The live result of a query; made by `Database.create_view`.

    Args:
        name: The view's name.
        query: The view's query.
        options: How the view is maintained.
        node: The block that maintains the view.
        graph: The database's blocks.
        guard: Lets one call of the database run at a time.
        tally: Counts of all commits so far.
        images: The rows of the view at versions that somebody reads or follows.
    """

    def __init__(  # what it shares with its database
        self,
        name: str,
        query: Query,
        options: ViewOptions,
        node: Node,
        graph: Graph,
        guard: Guard,
        tally: Tally,
        images: Images,
    ) -> None:
        self.name = name
        self._naming = of_view(name)
        self._query = query
        self._options = options
        self._node = node
        self._graph = graph
        self._guard = guard
        self._tables = graph.tables_below(node)
        self._tally = tally
        self._images = images
        self._before = (tally.versions, tally.of(self._tables))
        loaded = sum(base.total for name in self._tables if (base := graph.tables.get(name.lower())) is not None)
        self._began = Began(images.version, tally.versions, dict(tally.events), graph.counted(node), loaded)
        self._delta_rows = 0
        self._rows_since = 0  # of its deltas, since it has this query
        self._subscribers = Subscribers(name, tally.listened)
        self._last_read: weakref.ref[SharedRead] | None = None

    @cached_property
    def shape(self) -> Shape:
        """What an image of the view keeps."""
        return shape_of(self._query)

    @property
    def sql(self) -> str:
        """The view's query."""
        return self._query.sql

    @property
    def image(self) -> ViewImage:
        """What is kept of it beside its result."""
        kept = self._options
        return ViewImage(
            self.name,
            self.sql,
            kept.deltas,
            kept.algorithm,
            kept.statistics,
            kept.adaptive,
            kept.allow_product,
            kept.assertion,
            kept.begins,
        )

    @property
    def begins(self) -> dt.datetime | None:
        """The start of its first window, if its table had freed the rows before when the view was made; else None.

        A table frees rows with ``keep="open"``. A view that was there before has their windows; one that is made later
        cannot have them.
        """
        return None if self._options.begins is None else _EPOCH + self._options.begins * dt.timedelta(microseconds=1)

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the result."""
        return self._query.schema

    @property
    def types(self) -> tuple[SqlType, ...]:
        """The SQL types of the columns of the result."""
        return self.shape.types[: len(self.schema)]

    def to_ibis(self) -> Any:
        """The view for expressions of Ibis, of which other views can be made; needs ``pip install 'livejoin[ibis]'``.

        Raises:
            ImportError: Ibis is not installed.
            SchemaError: A column has a type that Ibis lacks.
        """
        return ibis_table(self.name, self.schema)

    @property
    def delta_schema(self) -> pa.Schema:
        """The Arrow schema of the deltas.

        The schema and the deltas have the view's `keys` in their metadata under ``b"livejoin.keys"``, as JSON: a list
        of lists of names. Parquet files that Spark writes of the deltas have them too. Law: for each key and each
        version a delta has at most one deletion (``delete``, ``update_preimage``) and one insertion.
        """
        return self._delta_schema

    @property
    def deltas(self) -> bool:
        """Whether commits carry this view's delta."""
        return self._options.deltas

    @property
    def assertion(self) -> Assertion | None:
        """How it is asserted that the view has no rows; None if it is an ordinary view."""
        return self._options.assertion

    @property
    def algorithm(self) -> Algorithm:
        """The algorithm for joins that was asked for."""
        return self._options.algorithm

    @property
    def adaptive(self) -> bool:
        """Whether the view may move to other join trees as the stream changes."""
        return self._options.adaptive

    @property
    def keys(self) -> tuple[tuple[str, ...], ...]:
        """The keys of the result, smallest first: sets of columns of which no two rows have the same values.

        NULL equals NULL here. A sink can upsert the view's deltas by any key (see `delta_schema`). The tuple is empty
        if no key is known; a key without columns says that the view has at most one row. Keys follow from the primary
        keys and the groups of the query.
        """
        return self._keys

    @cached_property
    def _keys(self) -> tuple[tuple[str, ...], ...]:
        names = self.schema.names
        found = [tuple(names[column] for column in sorted(key)) for key in keys(self._query.root)]
        return tuple(sorted(found, key=lambda key: (len(key), key)))

    @cached_property
    def _delta_schema(self) -> pa.Schema:
        return delta_schema(self._query.schema).with_metadata({KEYS: json.dumps(self._keys)})

    @cached_property
    def _no_delta(self) -> MemoryDelta:
        """The empty delta of a commit that did not change the view; made once."""
        return MemoryDelta((), self._delta_schema)

    def to_arrow(self) -> pa.Table:
        """The whole result; a row of multiplicity m stands there m times.

        Commits wait while words are copied. They go on while these become Arrow, and are sorted. Threads that read the
        same rows at the same time get the same table.

        Cost: O(result); with ORDER BY without LIMIT the rows are sorted, O(result * log(result)).
        """
        return self._read().table(self._table)

    def _table(self, pieces: Pieces) -> pa.Table:
        """Rows that are read as they are shown, in order."""
        rows = table_of(pieces, self._query.read.schema)
        if not self._query.order:
            return rows
        shown = sorted_rows(rows, self._query.order).select(range(len(self.schema)))
        return shown.cast(self.schema) if self._query.order_below else shown

    @alone
    def _read(self) -> SharedRead:
        """All rows that are read, for all who read them now."""
        node = self._kept
        below = node.inputs[0] if self._query.order_below else node
        read = None if self._last_read is None else self._last_read()
        if read is None or not read.is_of(below):
            read = SharedRead(below, words_of(below, *node.shown_by))
            self._last_read = weakref.ref(read)
        return read

    def __len__(self) -> int:
        """Rows of the result; cost and errors as for `count`. An empty view is false, as an empty list is."""
        return self.count()

    def batches(self, max_rows: int = _BATCH) -> Iterator[pa.RecordBatch]:
        """Stream the result with constant delay a row and memory for one batch.

        The rows of a query with ORDER BY without LIMIT are read and sorted before the first batch, as for `to_arrow`.

        Each batch is made when it is asked for, so that a slow reader holds one at a time. All batches belong to one
        version: a commit that reaches the view ends the stream with an error. Commits of other tables do not disturb.
        If commits come faster than you can read, use `to_arrow`, or `at` by position.

        Args:
            max_rows: Largest number of rows in a batch; more than 1,048,576 are never in one.

        Raises:
            ReadError: ``max_rows`` is not positive, or the view changed since the first batch.
            ExpressionError: DuckDB cannot evaluate an output on some row.
        """
        check_number(max_rows, "max_rows", 1, _MOST_ROWS)
        size = min(max_rows, reading.MOST_AT_ONCE)
        if self._query.order:
            return iter(self.to_arrow().combine_chunks().to_batches(size))
        return self._batches(size)

    def _batches(self, max_rows: int) -> Iterator[pa.RecordBatch]:
        node, version, rest = self._reading(max_rows)
        while (table_and_weights := self._read_on(node, version, rest)) is not None:
            table, weights = table_and_weights
            for piece in repeated(table, weights, max_rows):
                yield from piece.combine_chunks().to_batches()
                self._refuse_another(node, version)

    @alone
    def _reading(self, max_rows: int) -> tuple[Node, int, Batches]:
        """The block that keeps the view, its version, and a stream of its rows from the first one on."""
        node = self._kept.inputs[0] if self._query.order_below else self._kept
        _ = node.block  # a state that is loaded only now is another version
        return node, node.version, iter(node.scan(max_rows))

    @alone
    def _read_on(self, node: Node, version: int, rest: Batches) -> tuple[pa.Table, Words] | None:
        """The next rows with their multiplicities; None after the last ones."""
        if node is not (self._kept.inputs[0] if self._query.order_below else self._kept):
            version = -1  # it has another query
        self._refuse_another(node, version)
        with of_view(self.name):
            found = next(rest, None)
            if found is None:
                return None
            rows, weights = found
            return pa.table([rows.arrow(i) for i in range(len(rows.types))], schema=self._query.read.schema), weights

    def _refuse_another(self, node: Node, version: int) -> None:
        """Raise an error if the view has changed since a version."""
        if node.version != version:
            msg = (
                f"view {self.name!r} changed while it was read in batches; read all batches between two commits, or "
                "start again"
            )
            raise ReadError(msg)

    @alone
    def count(self) -> int:
        """Rows of the result, counted with multiplicities. Nothing is enumerated, except the groups under HAVING, and
        matches that are checked.

        Cost: O(1) for a view with deltas, which keeps the number up to date after the first call; and for stores (set
        operations, groups with a store, the first rows of an order). In a view with ``deltas=False`` the first call
        after a change costs O(base rows). Where a condition over several tables, as ``a.ts < b.ts``, is checked on each
        match, these first calls go through all matches. With ``deltas=False`` a view ``SELECT COUNT(*) FROM ...`` keeps
        the number up to date at the cost of a change.

        Raises:
            CapacityError: The number is beyond 64 bits.
        """
        with of_view(self.name):
            return exactly(self._kept.size())

    def __contains__(self, row: Row) -> bool:
        """Whether a row is in the result; cost and errors as for `multiplicity`."""
        return self.multiplicity(row) > 0

    @alone
    def multiplicity(self, row: Row) -> int:
        """How often a row stands in the result; nothing is enumerated (DYN, Proposition 4.18).

        Args:
            row: The values, as a tuple in the order of the schema or as a dict by the schema's names. None is NULL,
                which equals NULL here.

        Returns:
            The multiplicity; 0 if the row is not there.

        Raises:
            ReadError: The row does not fit the schema. Or the view keeps nothing that tells the multiplicity: join
                columns are not in the result, an output is computed from columns that the result does not show, or no
                index leads to the rows of a table of which the query uses some columns only. The message says what
                would help.
            CapacityError: The multiplicity is beyond 64 bits.

        Cost, independent of the size of the result: for joins one probe an atom if the query uses all columns of its
        table or a key; else O(rows of the atom with the same join key). For DISTINCT, GROUP BY, set operations, change
        propagation and bags of cyclic joins O(1). For ``ORDER BY ... LIMIT k`` O(k). Computed outputs cost one DuckDB
        call more.
        """
        with of_view(self.name):
            return reading.multiplicity(self._access, row, self.schema, self._query.root.types, self._graph.codec)

    @alone
    def get(self, key: Any) -> tuple[Any, ...] | None:
        """The row with a key of the view, or None if there is none: ``view.get(17)``, ``view.get(("Zoë", 2026))``.

        Args:
            key: The value of the key's column; a tuple of values in the order in which `keys` names them, whose first
                one with so many columns is taken; or a dict with the columns of any key, and perhaps others. None is
                NULL, which equals NULL here, as in `keys`.

        Raises:
            ReadError: The view has no such key, or no index by it; a value is none of its column.

        Cost: as for `lookup`.
        """
        found = self._look_up(self._of_key(key), "strict")
        if not found.num_rows:
            return None
        return reading.only_row(found.slice(0, 1))

    @alone
    def lookup(
        self, values: Mapping[str, Any] | None = None, /, *, coerce: Coerce = "strict", **columns: Any
    ) -> pa.Table:
        """The rows with some values, each as often as it stands there, in any order: ``view.lookup(customer="Zoë")``.

        Args:
            values: Values by the names of columns, for names that are no words of Python.
            coerce: Which values fit a column, as for `Database.apply`: with ``json`` a text is a date, or a decimal.
            columns: Values by the names of columns. None is NULL, and finds the rows that have NULL there (in SQL
                ``column IS NULL``).

        Raises:
            AbsentIndexError: The view keeps no index by these columns: then all rows would be read. It has one by the
                key of a table that determines the others, by the columns that it groups by, by those of PARTITION BY,
                by all columns of a DISTINCT, and by columns on which it joins tables; the message names those that
                there are.
            ReadError: The view has no such column, or a value is none of its column.

        Cost: O(1) for each table that the view joins, where the columns are a key; else O(rows that the indexes lead
        to). For ``ORDER BY ... LIMIT k`` O(k). Computed columns cost a call of DuckDB.
        """
        check_word(coerce, "coerce", get_args(Coerce))
        if not isinstance(values, Mapping | None):
            msg = (
                "values are given by the names of columns, as lookup(name=value) or lookup({'name': value}); found "
                f"{values!r:.80}, which get() takes where it is a key"
            )
            raise ReadError(msg)
        given = {} if values is None else values
        twice = {str(name).lower() for name in given} & {name.lower() for name in columns}
        if twice:
            msg = f"two values are given for the column {min(twice)!r}; give one of them"
            raise ReadError(msg)
        return self._look_up({**given, **columns}, coerce)

    def _look_up(self, values: Mapping[str, Any], coerce: Coerce) -> pa.Table:
        names = self.schema.names
        asked = {names.index(name): value for name, value in reading.by_name(values, self.name, names).items()}
        access = self._access
        if not access.leads(asked.keys()):
            raise AbsentIndexError(self._no_index(access, asked))
        with of_view(self.name):
            return reading.look_up(access, asked, self._query, self._graph.codec, coerce)

    def _of_key(self, key: Any) -> Mapping[str, Any]:
        """The values of a key by the names of its columns."""
        known = ", ".join(f"({', '.join(one)})" for one in self.keys)
        if not known:
            msg = f"no key of view {self.name!r} is known; lookup(column=value) gives all rows with some values"
            raise ReadError(msg)
        if isinstance(key, Mapping):
            given = {str(name).lower() for name in key}
            if not any(given.issuperset(map(str.lower, one)) for one in self.keys):
                msg = f"{', '.join(map(str, key)) or 'nothing'} is no key of view {self.name!r}; its keys are {known}"
                raise ReadError(msg)
            return key
        row = key if isinstance(key, tuple) else (key,)
        fitting = [one for one in self.keys if len(one) == len(row)]
        if not fitting:
            values = "1 value is" if len(row) == 1 else f"{len(row)} values are"
            msg = f"{values} no key of view {self.name!r}; its keys are {known}"
            raise ReadError(msg)
        return dict(zip(fitting[0], row, strict=True))

    def _no_index(self, access: Access, asked: Collection[int]) -> str:
        """Why nothing is looked up by some columns, and what would help."""
        names = self.schema.names
        there: list[tuple[str, ...]] = []
        for one in (*((name,) for name in names[:_TRIED]), *combinations(names[:_PAIRED], 2), *self.keys):
            if not any(set(known) <= set(one) for known in there) and access.leads({names.index(name) for name in one}):
                there.append(one)
        found = ", ".join(f"({', '.join(one)})" for one in there) or "none"
        if not asked:
            return (
                f"lookup() names no column of view {self.name!r}: to_arrow() gives all rows, and lookup(column=value) "
                f"those with a value. The view has indexes by {found}"
            )
        by = ", ".join(names[place] for place in sorted(asked))
        return (
            f"view {self.name!r} has no index by {by}, and all of its rows would be read; it has indexes by {found}. "
            "Look up by one of these. A view has indexes by keys of its tables, by what it groups by, by the columns "
            "of PARTITION BY, and by what it joins its tables on: ... JOIN (SELECT DISTINCT "
            f"{by} FROM ...) USING ({by}) makes one. Or filter what to_arrow() gives"
        )

    @alone
    def top(self, rows: int) -> pa.Table:
        """The first rows of a view with ORDER BY, in this order; all of them if there are fewer.

        Args:
            rows: How many.

        Raises:
            ReadError: The view has no ORDER BY, or the number is none.

        Cost: O(rows * log(rows kept)) with LIMIT, which keeps the order; else the result is read and sorted, as for
        `to_arrow`.
        """
        check_number(rows, "rows", 0, reading.MOST_AT_ONCE)
        if self._query.order:
            return self.to_arrow().slice(0, rows).combine_chunks()
        if not _is_ordered(self._query.root):
            raise ReadError(reading.no_order(self.name))
        with of_view(self.name):
            return reading.slice_of(self._access, 0, rows, self.schema)

    @alone
    def at(self, position: int) -> tuple[Any, ...]:
        """The row at a position of the result, in the order of `batches`; negative positions count from the end.

        Equal rows stand next to each other. A commit may move all rows. With ``ORDER BY ... LIMIT`` the positions
        follow the order.

        Raises:
            ReadError: There is no row at this position, or the query has ORDER BY without LIMIT.
            CapacityError: The result has more rows than 64 bits count.

        Cost: for joins O(tree nodes * log(base rows)); the first call after a change costs O(base rows) for sums, which
        take at most as much memory as the state and stay until the next change. For stores and change propagation O(1),
        and O(rows kept) once after a change; under HAVING O(groups). For ``ORDER BY ... LIMIT`` O(log(rows kept)).
        """
        if self._query.order:
            msg = (
                f"view {self.name!r} has ORDER BY without LIMIT: its rows are sorted when all are read, and nothing "
                "knows one by its position in this order; read to_arrow(), or write LIMIT, which keeps the order"
            )
            raise ReadError(msg)
        with of_view(self.name):
            return reading.at(self._access, position, self.schema)

    @alone
    def slice(self, position: int, rows: int) -> pa.Table:
        """The rows from a position of the result on, in the order of `batches`; fewer at its end.

        Args:
            position: The position of the first one, from 0.
            rows: How many rows are wanted.

        Raises:
            ReadError: An argument is no such number; or as for `at`.

        Cost: that of `at`, for each of the rows.
        """
        check_number(position, "position", 0, _MOST_ROWS)
        check_number(rows, "rows", 0, reading.MOST_AT_ONCE)
        with of_view(self.name):
            return reading.slice_of(self._access, position, rows, self.schema)

    @alone
    def sample(self, rows: int, *, seed: int | None = None) -> pa.Table:
        """Draw rows uniformly and with replacement; a row of multiplicity m is m times as likely.

        Args:
            rows: How many rows to draw.
            seed: Makes the draw repeatable until the view changes.

        Returns:
            The rows in the order of the draws.

        Raises:
            ReadError: The number of rows is negative, or the result is empty.
            CapacityError: The result has more rows than 64 bits count.

        Cost: `at` for each row, in one call for all of them.
        """
        with of_view(self.name):
            return reading.sample(self._access, rows, seed, self.schema)

    @alone
    def estimate(
        self,
        aggregate: str,
        *,
        error: float = 0.01,
        confidence: float = 0.95,
        seed: int | None = None,
        max_draws: int = 100_000,
    ) -> Estimate:
        """About what an aggregate of the rows is, from draws: of a result that nobody can list.

        Args:
            aggregate: ``AVG(x)``, ``SUM(x)``, ``COUNT(x)`` or ``COUNT_IF(condition)`` over the view's columns, in SQL.
            error: How wide the interval may be to each side, as a share of the value; more rows are drawn until it is.
            confidence: How probable it is that the true value lies in the interval.
            seed: Makes the draws repeatable until the view changes.
            max_draws: Where drawing ends, however wide the interval then is.

        Returns:
            The value and its interval. A view of few rows is read whole, and the value is exact.

        Raises:
            UnsupportedQueryError: The aggregate is another one.
            SqlError: The expression does not fit the view's columns.
            ExpressionError: An expression has no value on a row that was drawn.
            ReadError: An argument is out of range.
            CapacityError: The result has more rows than 64 bits count.

        An average of values of which few are huge needs more draws than the interval tells: it says what draws met.

        Cost: as `sample` for each draw; commits wait meanwhile.

        >>> from livejoin import Database
        >>> db = Database()
        >>> db.execute("CREATE TABLE t (k INT, v INT)")
        >>> pairs = db.create_view("pairs", "SELECT a.v AS a, b.v AS b FROM t a JOIN t b ON a.k = b.k")
        >>> _ = db.apply("t", [(1, i) for i in range(1000)])
        >>> pairs.count()
        1000000
        >>> found = pairs.estimate("AVG(a + b)", error=0.05, seed=1)
        >>> found.low < 999 < found.high, found.draws
        (True, 1000)
        """
        from livejoin.database.estimating import estimated  # noqa: PLC0415 - which asks a database of its own

        for value, argument in ((error, "error"), (confidence, "confidence")):
            if not isinstance(value, float) or not 0 < value < 1:
                msg = f"{argument} is {value!r:.80}; allowed are numbers between 0 and 1, as 0.05"
                raise ReadError(msg)
        check_number(max_draws, "max_draws", 1, _MOST_ROWS)
        if seed is not None:
            check_number(seed, "seed", 0, _MOST_ROWS)
        return estimated(self, aggregate, error, confidence, seed, max_draws)

    @alone
    def why(self, row: Row, *, limit: int = 100, coerce: Coerce = "strict", scan: bool = True) -> Why:
        """Why a row is there: the rows of the tables that it is made of, found now; nothing is stored for it.

        Args:
            row: The row, as a tuple in the order of the schema or a dict by its names; of a view with a key a dict of
                the key's columns is enough.
            limit: The most combinations of rows that are wanted; of a sub-query's row so many again.
            coerce: As for `lookup`.
            scan: Whether a table of more than 10,000 rows is passed over where no key leads to its rows; without it
                that is refused, and says which table.

        Returns:
            For a join the combinations of rows that give it. For a group those that feed it, each with what it gives to
            the aggregates. For NOT EXISTS and outer joins also what is not there. Print it, or read
            ``why.rows("orders")``.

        Raises:
            ReadError: The row does not fit the schema, or is not there: `why_not` says why.
            AbsentIndexError: No key leads to the rows of a large table, and ``scan`` is false.
            CapacityError: The rows that are looked at take more memory than there may be.

        Cost: a probe a row where keys of tables lead from the row's values to the rows that give it. Else a pass over
        the words of a table, a few ns a row, for each occurrence that no key leads to; and a sub-query that is not
        kept by itself is computed once, O(rows of its tables). Commits wait meanwhile.

        >>> from livejoin import Database
        >>> db = Database()
        >>> db.execute("CREATE TABLE orders (id INT PRIMARY KEY, customer STRING, price INT)")
        >>> view = db.create_view("spent", "SELECT customer, SUM(price) AS spent FROM orders GROUP BY customer")
        >>> _ = db.apply("orders", [(1, "Zoë", 20), (2, "Zoë", 22), (3, "Ali", 1)])
        >>> print(view.why({"customer": "Zoë"}))
        spent has customer = 'Zoë', spent = 42, by 2 combinations of rows; the group of customer = 'Zoë'
          1. orders: id = 1, customer = 'Zoë', price = 20 (gives price = 20)
          2. orders: id = 2, customer = 'Zoë', price = 22 (gives price = 22)
        """
        from livejoin.database.lineage.asking import why  # noqa: PLC0415 - which asks a database of its own

        check_number(limit, "limit", 1, _MOST_ROWS)
        check_switch(scan, "scan")
        with of_view(self.name):
            return why(self, row, limit, coerce, scan)

    @alone
    def why_not(self, row: Row, *, coerce: Coerce = "strict", scan: bool = True) -> WhyNot:
        """Why no such row is there: the first thing that is missing, from the tables on.

        Args:
            row: The row, as a tuple in the order of the schema, or the values of some columns by their names.
            coerce: As for `lookup`.
            scan: As for `why`.

        Returns:
            The reason as a sentence: a table without a row that fits, a condition that is not true, a row that must not
            be there, a group with other values, a place behind the first rows; and rows that show it.

        Raises:
            ReadError: The row does not fit the schema, or it is there: `why` says what it is made of.
            AbsentIndexError: As for `why`.
            CapacityError: The rows that are looked at take more memory than there may be.

        Cost: as for `why`, once for each table of the join that it comes to.

        >>> from livejoin import Database
        >>> db = Database()
        >>> db.execute("CREATE TABLE orders (id INT PRIMARY KEY, price INT)")
        >>> view = db.create_view("dear", "SELECT id FROM orders WHERE price > 100")
        >>> _ = db.apply("orders", [(1, 20)])
        >>> print(view.why_not({"id": 1}))
        dear has no row with id = 1: no row of orders that fits passes the condition price > 100
          orders: id = 1, price = 20
        >>> print(view.why_not({"id": 2}))
        dear has no row with id = 2: there is no row of orders with id = 2
        """
        from livejoin.database.lineage.asking import why_not  # noqa: PLC0415 - which asks a database of its own

        check_switch(scan, "scan")
        with of_view(self.name):
            return why_not(self, row, coerce, scan)

    @alone
    def explain(self, *, analyze: bool = False) -> Explanation:
        """The query's class, the plan and what a change costs; print it, or let a notebook show it.

        Args:
            analyze: Whether it also has what the view really cost, beside what was expected: a section of the text, of
                the page and of the JSON (``actual``). The first time this begins to `analyze` the view, so that keys,
                lives and rows touched are there when it is asked again after some commits.

        Cost: that of planning; with ``analyze`` also O(rows of its tables * log(rows)), for figures of the tables now,
        and the first time that of counting the view's rows.

        >>> from livejoin import Database
        >>> db = Database()
        >>> db.execute("CREATE TABLE orders (customer BIGINT, price BIGINT)")
        >>> view = db.create_view("spent", "SELECT customer, SUM(price) AS s FROM orders GROUP BY customer")
        >>> view.analyze()
        >>> _ = db.apply("orders", [(7, 20), (7, 22), (8, 1)])
        >>> actual = view.explain(analyze=True).to_dict()["actual"]
        >>> [(one["relation"], one["key"], one["cost"]) for one in actual["keys"]]
        [('group', {'customer': 7}, 2), ('group', {'customer': 8}, 1)]
        """
        check_switch(analyze, "analyze")
        told = self._explained()
        return analyzed(self, told) if analyze else told

    @alone
    def analyze(self, on: bool = True) -> None:
        """Begin to count what costs something to count, for ``explain(analyze=True)``, or end it.

        Args:
            on: Whether it is counted from now on. If it is already, nothing changes.

        Cost: O(rows of its tables) to begin; then some 100 microseconds a commit and half of one a change, as long
        as it is on; 8 bytes for each row of its tables, at most 32 MB a table.
        """
        check_switch(on, "on")
        begin(self) if on else end(self)

    def _explained(self) -> Explanation:
        """As `explain`, without what it really cost."""
        options, node, threads = self._options, self._kept, self._graph.threads
        told = describe_query(
            self._query,
            options.statistics,
            options.deltas,
            algorithm=options.algorithm,
            threads=threads,
            running=lambda plan: dict(_running(plan, node)),
            present=replace(self._graph.present(self._query), seen=seen_of(self)),
        )
        moved = [one.adaptive.told for one in self._below if one.adaptive is not None]
        moved += [one.spreading.told(one.cells > 1) for one in self._below if one.spreading is not None]
        moved += [LEFT_OUT for one in self._below if leaves_out(one)]
        asserted = "" if self.assertion is None else asserts(self.assertion)
        begins = where_it_begins(self)
        return replace(told, reason=" ".join([told.reason, *dict.fromkeys(moved)]), asserted=asserted, begins=begins)

    @alone
    def stats(self) -> dict[str, int | float]:
        """Figures of the view's state and work.

        Returns:
            ``state_bytes`` (in use) and ``capacity_bytes`` (allocated), ``rows`` of the result (a float beyond 64
            bits), ``atom_rows`` in the state, ``height`` of the tree (for a chain the number of joins, 0 without a
            join), and ``cells`` that the joins are split into. Since the view was created:

            - ``commits``, ``changes`` of base rows, ``delta_rows``, ``seconds`` in the kernels;
            - ``propagated``: rows that entered or left a semi-join view; for transitions, steps that were computed;
            - ``stopped``: rows at which propagation stopped; for transitions, steps that were looked up;
            - ``touched``: counters and annotations that P-UPDATE changed; ``probes``: look-ups of keys;
            - ``lambda_observed``: ``touched`` a change. The enclosureness of the change sequence bounds it up to a
              constant (CROWN, Theorem 6.6). On a tree where an atom below another one has two children, the
              enclosureness with crossing lifespans is the bound (docs/decisions/0007);
            - ``moves`` to another join tree.
        """
        counters = dict.fromkeys(("propagated", "stopped", "touched", "probes"), 0)
        for node in self._below:
            for name, value in node.counters().items():
                counters[name] = counters.get(name, 0) + value
        blocks = [node.join for node in self._below if node.join is not None]
        sizes = [node.block.sizes() for node in self._below]
        changes = self._tally.of(self._tables) - self._before[1]
        return {
            "state_bytes": sum(used for used, _ in sizes),
            "capacity_bytes": sum(capacity for _, capacity in sizes),
            "rows": self._kept.size(),
            "atom_rows": sum(node.registered for node in self._below),
            "height": max((block.plan.physical.height for block in blocks), default=0),
            "cells": max(node.cells for node in self._below),
            "commits": self._tally.versions - self._before[0],
            "changes": changes,
            "delta_rows": self._delta_rows,
            **counters,
            "lambda_observed": counters["touched"] / max(1, changes),
            "seconds": sum(node.counts.total.seconds for node in self._below),
            "moves": sum(node.adaptive.moves for node in self._below if node.adaptive is not None),
        }

    @alone
    def subscribe(
        self, callback: Callback, on_error: ErrorHandler | None = None, *, snapshot: bool = False
    ) -> Callable[[], None]:
        """Call ``callback(delta)`` after each commit, with an empty table where nothing changed.

        Callbacks are called in the order of the versions, while the database is at the version of the delta. A callback
        may read, subscribe, end subscriptions, create and drop views, and save. It may not commit: `Database.apply` and
        `Database.replay` raise ChangeError there. A subscription that ends meanwhile, as when its view is dropped, is
        not called any more; a new one is called from the next commit on.

        The commit stands when callbacks are called, so that what they raise does not come out of `Database.apply`:
        ``on_error(exception)`` is called instead, and may do what a callback may. Without ``on_error`` the exception is
        logged with its traceback by the logger ``livejoin``, and kept in `last_subscriber_error`. In both cases the
        subscription goes on. What is no ``Exception``, as KeyboardInterrupt, comes out of the call that made the
        commit, after all callbacks were called.

        An ``async`` function is awaited by the event loop that runs in this thread when it subscribes: in the order of
        the versions, one delta after the other, after the commit, which does not wait for it; it may commit. What waits
        for it is kept without a bound (`changes` has bounds). The subscription ends with its loop.

        A callback gets the whole delta as a table, so deltas of a view with subscribers are never spilled. A delta that
        does not fit into ``memory_limit`` refuses the commit. For deltas larger than memory use `Commit.batches`.

        Args:
            callback: The function that gets each delta, plain or ``async``.
            on_error: The function that gets what the callback raises.
            snapshot: Whether the callback is called at once with all rows, as insertions, so that it knows what the
                deltas change. `changes` does the same outside of the commits.

        Returns:
            A function that ends the subscription; a second call does nothing.

        Raises:
            ReadError: The view was created with ``deltas=False``; the callback or ``on_error`` is no function, or does
                not take one argument; the callback is ``async`` and no event loop runs in this thread; or ``on_error``
                is, which nothing would await.
        """
        if not self.deltas:
            msg = f"view {self.name!r} was created with deltas=False and has nothing to subscribe to"
            raise ReadError(msg)
        _ = self._kept
        check_switch(snapshot, "snapshot")
        end = self._subscribers.add(callback, on_error)
        if snapshot:
            self._images.make_told()
            version = self._images.version
            first = insertions(self.to_arrow(), version, self._delta_schema)
            self._subscribers.now()[-1].tell(first, version)
        return end

    def changes(
        self,
        since: int | None = None,
        *,
        waiting: Waiting = "each",
        max_waiting: int = _MOST_WAITING,
        when_full: WhenFull = "forget",
        patience: float = 10.0,
        paired: bool = False,
        positions: bool = False,
    ) -> Changes:
        """Follow the view: all its rows first, and then every delta, in order and without a gap.

        ``for update in view.changes(): ...`` waits for the next commit that changes the view, ``async for`` awaits it.
        Each `Update` has a ``version``, a ``delta`` and ``reset``, which says that the delta is all rows as insertions.
        Commits do not wait for who follows, and any number of followers share the deltas and the first rows.

        Args:
            since: The version up to which you know the view, as from ``update.version``. Where the deltas since then
                are still there (another one follows from before it, or `keep_history` keeps them), they come at once;
                else all rows come first. By default all rows come first.
            waiting: With ``each``, every commit that changes the view is an update. With ``merge``, what came since the
                last one is a single update with the net delta.
            max_waiting: How many rows of deltas may wait for you.
            when_full: The fate of updates beyond that. With ``forget`` they are forgotten, and the next update is a
                ``reset`` with all rows. With ``block`` the next commit, of any thread, waits until you have read enough
                of them or `Changes.close` was called. The thread that reads cannot commit meanwhile (ChangeError).
            patience: For how many seconds a commit waits with ``block``. Then it goes on, and what waits is forgotten,
                so that one who has died stops nobody again.
            paired: Whether rows that change under the view's key are updates in the deltas, as `paired` makes them.
            positions: Whether updates have the `Update.positions` of rows, of a view with ``ORDER BY ... LIMIT``. The
                delta is what takes the list of the rows from one version to the next: a row that changes its place goes
                and comes. It costs O(rows of the result) an update.

        Returns:
            An iterator of `Update`. ``next(timeout=5)`` waits for so many seconds at most. ``close()``, also in another
            thread, ends it; so does the database's. It is a context manager.

        Raises:
            ReadError: The view was created with ``deltas=False``, ``since`` is a version that is still to come, or the
                deltas are to be ``paired`` and no key of the view is known, or to have ``positions`` and the view has
                no ORDER BY ... LIMIT, or a nested column.
            SchemaError: An option is none of those above.

        Cost: O(result) for the first rows, which followers that come at one version share; then O(delta) each.
        """
        if not self.deltas:
            msg = f"view {self.name!r} was created with deltas=False and has no changes to follow"
            raise ReadError(msg)
        check_word(waiting, "waiting", WAITING)
        check_number(max_waiting, "max_waiting", 0, _MOST_ROWS)
        check_word(when_full, "when_full", WHEN_FULL)
        check_seconds(patience, "patience", _LONGEST_PATIENCE)
        if since is not None:
            check_number(since, "since", 0, _MOST_ROWS)
        _ = self._kept
        check_switch(paired, "paired")
        check_switch(positions, "positions")
        if paired:
            _ = self._smallest_key
        if positions and (not _is_ordered(self._query.root) or any(map(pa.types.is_nested, self.shape.kept.types))):
            msg = (
                f"view {self.name!r} keeps no positions of its rows: they are told of a view with ORDER BY ... LIMIT "
                "whose columns are not nested"
            )
            raise ReadError(msg)
        blocks = patience if when_full == "block" else 0.0
        return Changes(self.name, self._images, since, waiting, max_waiting, blocks, paired, positions)

    def live(self, rows: int = 20) -> LiveView:
        """A live cell for Jupyter, marimo and VS Code: the first rows, which change in place as commits come.

        Leave it as the last expression of a cell. What changed is marked for a moment. Commits may come from any thread
        and wait for nothing: the cell is drawn at most ten times a second, and says so when it shows several commits in
        one step. It ends with ``close()``, and rests while no page shows it. ``pip install 'livejoin[notebook]'``

        Args:
            rows: How many rows are shown at most, up to 1,000.

        Returns:
            A widget of anywidget; ``widget.shown`` is what it shows.

        Raises:
            ReadError: The number is none of these, anywidget is not installed, or as for `to_arrow`.

        Cost: O(rows) for each drawing; with ORDER BY without LIMIT, and with HAVING, as for `batches`.
        """
        check_number(rows, "rows", 1, _MOST_LIVE)
        try:
            from livejoin.database.live.cell import LiveView  # noqa: PLC0415  # anywidget need not be there
        except ImportError as error:
            msg = f"view.live() needs anywidget ({error}): pip install 'livejoin[notebook]'"
            raise ReadError(msg) from error
        return LiveView(FirstRows(self, rows, self._images, self._guard))

    def paired(self, delta: pa.Table) -> pa.Table:
        """A delta of the view in which rows that change under its key are updates.

        Where groups say so, a delta has an ``update_preimage`` and an ``update_postimage`` already. Elsewhere, as in a
        join, a row that takes the place of another one with its key is a deletion and an insertion, which the commit
        does not compare. Here they are paired by the smallest of `keys`, so that who shows the rows sees which change.

        Args:
            delta: A delta, as a commit, a subscriber or `changes` have it.

        Returns:
            The same rows in their places, with these kinds.

        Raises:
            ReadError: No key of the view is known, or the table is no delta of it.

        Cost: O(rows * log(rows)) of the delta; nothing where rows only come, or only go.
        """
        key = self._smallest_key
        if delta.schema.names != self._delta_schema.names:
            msg = f"a delta of view {self.name!r} has the columns {', '.join(self._delta_schema.names)}"
            raise ReadError(msg)
        places = [self.schema.names.index(name) for name in key]
        return pairs.paired(delta, places, [self.types[place] for place in places])

    @property
    def _smallest_key(self) -> tuple[str, ...]:
        if not self.keys:
            msg = (
                f"no key of view {self.name!r} is known, by which rows that change could be paired; let it show a "
                "primary key, or the columns of GROUP BY"
            )
            raise ReadError(msg)
        return self.keys[0]

    def _publish(self) -> int:
        """As `livejoin.Database.publish`."""
        _ = self._kept
        return self._images.publish(self.name.lower())

    @alone
    def keep_history(self, rows: int) -> None:
        """Keep the newest deltas, so that who comes back can go on by ``changes(since=version)``.

        Args:
            rows: How many rows of deltas are kept at most; 0 keeps none. Only those from now on are kept. In a folder
                they stay when it is closed, and so does the setting; else they are in memory, as long as it is open.

        Raises:
            ReadError: The view was created with ``deltas=False``.
            StorageError: The setting could not be written to the folder; nothing has changed.

        Cost: O(1). From then on, in a folder, each commit that changes the view writes its delta with its record.
        """
        if not self.deltas:
            msg = f"view {self.name!r} was created with deltas=False and has no deltas to keep"
            raise ReadError(msg)
        check_number(rows, "rows", 0, _MOST_ROWS)
        _ = self._kept
        self._images.keep(self.name.lower(), rows)

    def as_of(self, version: int) -> RowsAt:
        """The view as it was at a version, to be read as in a snapshot, as far as its history reaches.

        Args:
            version: The version of the database, as ``commit.version``.

        Raises:
            ReadError: The history does not reach there (`keep_history`), or there is no such version yet.

        Cost: nothing yet; reading it costs as for `snapshot`: the rows as they are, rolled back by what came since.

        >>> from livejoin import Database
        >>> db = Database()
        >>> db.execute("CREATE TABLE stock (item STRING, pieces INT)")
        >>> view = db.create_view("total", "SELECT SUM(pieces) AS pieces FROM stock")
        >>> view.keep_history(1000)
        >>> first, second = db.apply("stock", [("nuts", 7)]).version, db.apply("stock", [("bolts", 5)]).version
        >>> view.as_of(first).to_pylist(), view.between(first, second)["pieces"].to_pylist()
        ([{'pieces': 7}], [7, 12])
        """
        check_number(version, "version", 0, _MOST_ROWS)
        _ = self._kept
        return RowsAt(self.name, version, self._past.link(version), self.shape, self._images)

    def between(self, first: int, last: int) -> pa.Table:
        """What happened to the view from one version to a later one: one net delta, as of a commit.

        A row that came and went in between is not there. Deletions stand first.

        Args:
            first: The version that is known.
            last: A later version, or the same.

        Raises:
            ReadError: The history does not reach back to ``first`` (`keep_history`), or ``last`` is not there yet, or
                is before ``first``.

        Cost: O(versions since ``first``, and rows of their deltas).
        """
        check_number(first, "first", 0, _MOST_ROWS)
        check_number(last, "last", 0, _MOST_ROWS)
        if last < first:
            msg = f"last is {last} and first is {first}; allowed is a version that is not before the first"
            raise ReadError(msg)
        _ = self._kept
        _ = self._past.link(last)
        return self._past.between(first, last)

    @property
    def _past(self) -> Past:
        return Past(self.name, self._images, self.shape, self.delta_schema)

    @property
    @alone
    def history(self) -> int:
        """How many rows of deltas are kept at most for those who come back (`keep_history`); 0 for none."""
        return self._images.kept(self.name.lower())

    @property
    def last_subscriber_error(self) -> Exception | None:
        """The last exception of a subscriber without ``on_error``, or of an ``on_error``; None if there was none."""
        return self._subscribers.last_error

    def __repr__(self) -> str:
        return f"View({self.name!r}, {sum(len(join.atoms) for join in self._query.joins)} atoms)"

    def _repr_html_(self) -> str:
        return notebook.of_view(self)

    @property
    def _kept(self) -> Node:
        """The block that maintains the view.

        Raises:
            ReadError: The view was dropped.
        """
        if self.name not in self._node.shown_by:
            msg = (
                f"view {self.name!r} was dropped, or replaced by one with other columns; take it from db.views, or "
                "create it again"
            )
            raise ReadError(msg)
        return self._node

    @property
    def _access(self) -> Access:
        """Access to the present result."""
        return self._kept.access()

    @property
    def _below(self) -> list[Node]:
        """The blocks that maintain the view, in topological order."""
        return self._graph.below(self._kept)

    @property
    def _joins(self) -> list[AnyJoin]:
        """The joins that maintain the view, with their present plans."""
        return [node.plan for node in self._below if isinstance(node.plan, AnyJoin)]

    def _reads_table(self, table: str) -> bool:
        """Whether the view uses a base table, at any depth."""
        return table.lower() in self._tables

    def _names_table(self, table: str) -> bool:
        """Whether the view uses a base table, or its text names one that the plan does not need: O(text)."""
        return self._reads_table(table) or table.lower() in names_read(self._query.sql)

    def _delta(self, changes: Mapping[Node, Change], scratch: Scratch | None) -> ViewDelta:
        """The delta of the view in a commit; a large delta is written to files if there is a folder for them."""
        change = changes.get(self._node)
        if change is None:
            return self._no_delta
        return change.shown(self._delta_schema, scratch)

    def _note(self, delta: ViewDelta) -> None:
        """Count a delta in the view's figures."""
        self._delta_rows += delta.num_rows
        self._rows_since += delta.num_rows


def _is_ordered(relation: Relation) -> bool:
    """Whether the rows of a relation stand in an order of its own."""
    while isinstance(relation, Project):
        relation = relation.input
    return isinstance(relation, TopK)


def _running(plan: Operator, node: Node) -> Iterator[tuple[AnyJoin, MaintainedJoin]]:
    """For each join of a plan the running join; another view may have made it."""
    for below, inner in zip(plan.below, node.inputs, strict=True):
        yield from _running(below, inner)
    if isinstance(plan, AnyJoin) and isinstance(node.plan, AnyJoin):
        yield plan, MaintainedJoin(node.statistics, node.plan.physical.live, dict(_bag_rows(node)))


def _bag_rows(node: Node) -> Iterator[tuple[str, int]]:
    """The bags below a join by their titles, with their rows."""
    for one in node.inputs:
        if isinstance(one.plan, BagOperator):
            yield one.plan.derived.title, one.stored().rows
            yield from _bag_rows(one)


def where_it_begins(view: View) -> str:
    """From when on a view has windows, as a sentence; empty if it has them all."""
    if view.begins is None:
        return ""
    return f"The view begins with the windows from {view.begins} on: rows before were freed when it was made."
