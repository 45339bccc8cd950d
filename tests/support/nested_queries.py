"""Draws nested queries of up to four levels: joins over groups over joins, set operations inside, WITH read twice.

Everything is drawn from a `random.Random`, so that a seed names a query. Rows are estimated on the way, so that the
joins of a query stay small over tables of about ten rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from nested_sql import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    QUOTIENT,
    STRING,
    Column,
    Combined,
    Definition,
    Expr,
    Item,
    Key,
    Kind,
    Order,
    Query,
    Select,
    Source,
    With,
    columns,
    decimal,
)

MOST_ROWS = 250.0
"""No join is drawn that is estimated to have more rows."""
NAMES = ("a", "b", "c", "d", "e")
_COLUMN_NAMES = frozenset("abcdefg")
LITERALS = {
    "integer": ("1", "2", "0"),
    "string": ("'1'", "'2'"),
    "date": ("DATE '2024-02-29'", "DATE '1970-01-01'"),
    "boolean": ("TRUE", "FALSE"),
    "double": ("CAST(0.25 AS DOUBLE)", "CAST(1 AS DOUBLE)"),
    "quotient": ("CAST(0.5 AS DOUBLE)",),
    "decimal2": ("1.50", "0.00"),
}


@dataclass(frozen=True)
class Named:
    """A table, a view or a WITH that a query may read."""

    name: str
    columns: tuple[Column, ...]
    rows: float


@dataclass
class _Scope:
    """The sources of one SELECT and how their columns are called."""

    random: Random
    sources: list[Source] = field(default_factory=list)
    rows: float = 1.0

    def all(self) -> list[tuple[str, Column]]:
        """Every column with its alias."""
        return [(s.alias, c) for s in self.sources for c in s.columns]

    def expr(self, alias: str, column: Column) -> Expr:
        """A column; its alias is left out now and then where there is one source only."""
        bare = len(self.sources) == 1 and self.random.random() < 0.5
        text = column.name if bare else f"{alias}.{column.name}"
        return Expr(text, text, column.kind)

    def column(self, family: str | None = None) -> Expr | None:
        """Some column, of a family if it is given; None if there is none."""
        fitting = [(a, c) for a, c in self.all() if family in (None, c.kind.family)]
        return self.expr(*self.random.choice(fitting)) if fitting else None


class Maker:
    """Draws queries over some tables and views.

    Args:
        random: Where all choices come from.
    """

    def __init__(self, random: Random) -> None:
        self.random = random
        self._aliases = 0
        self.rows = 1.0

    def chance(self, probability: float) -> bool:
        """True with a probability."""
        return self.random.random() < probability

    def query(self, levels: int, scope: Sequence[Named], wanted: tuple[Kind, ...] | None = None) -> Query:
        """A query of at most so many levels; ``rows`` is then the estimate of its rows.

        Args:
            levels: Most levels of blocks.
            scope: What it may read.
            wanted: Types of the outputs; None for any.
        """
        if levels > 1 and self.chance(0.3):
            return self._with(levels, scope, wanted)
        return self._body(levels, scope, wanted)

    def _body(self, levels: int, scope: Sequence[Named], wanted: tuple[Kind, ...] | None) -> Select | Combined:
        if levels > 1 and self.chance(0.22):
            return self._combined(levels, scope, wanted)
        return self._select(levels, scope, wanted)

    def _with(self, levels: int, scope: Sequence[Named], wanted: tuple[Kind, ...] | None) -> With:
        definitions: list[Definition] = []
        known = list(scope)
        for _ in range(self.random.choice([1, 1, 2])):
            inner = self.query(levels - 1, known)
            shown = self._renamed(columns(inner))
            renamed = shown != columns(inner)
            self._aliases += 1
            name = f"w{self._aliases}"
            if self.chance(0.1):
                # A WITH that hides a table or view.
                name = self.random.choice(scope).name
            if any(d.name == name for d in definitions) or _reads(inner, name):
                name = f"w{self._aliases}"
            definitions.append(Definition(name, inner, shown, renamed))
            known = [n for n in known if n.name != name] + [Named(name, shown, self.rows)] * 4
        return With(tuple(definitions), self._body(max(1, levels - 1), known, wanted))

    def _renamed(self, shown: tuple[Column, ...]) -> tuple[Column, ...]:
        if not self.chance(0.12):
            return shown
        names = self.random.sample(["a", "b", "c", "d", "e", "f", "g"], len(shown))
        return tuple(Column(name, c.kind) for name, c in zip(names, shown, strict=True))

    def _combined(self, levels: int, scope: Sequence[Named], wanted: tuple[Kind, ...] | None) -> Combined:
        word = self.random.choice(["UNION"] * 3 + ["EXCEPT"] * 2 + ["INTERSECT"]) + self.random.choice(["", " ALL"])
        left = self.query(levels - 1, scope, wanted)
        rows = self.rows
        right = self.query(levels - 1, scope, tuple(c.kind for c in columns(left)))
        self.rows = rows + self.rows if word.startswith("UNION") else rows
        combined = Combined(word, left, right)
        if self.chance(0.12):
            shown = columns(combined)
            keys = tuple(
                Key(c.name, Expr(c.name, c.name, c.kind), self.chance(0.5), self._nulls())
                for c in self.random.sample(shown, 1)
            )
            combined = replace(combined, order=self._order(keys))
        return combined

    def _nulls(self) -> str:
        return self.random.choice(["", "", " NULLS FIRST", " NULLS LAST"])

    def _order(self, keys: tuple[Key, ...]) -> Order:
        limit = self.random.choice([1, 2, 3, 3, 5])
        self.rows = min(self.rows, limit)
        return Order(keys, limit, self.random.choice([0, 0, 0, 0, 0, 1]))

    def _select(self, levels: int, scope: Sequence[Named], wanted: tuple[Kind, ...] | None) -> Select:
        found = self._from(levels, scope)
        rows = found.rows
        where = tuple(self._condition(found, one=True) for _ in range(self.random.choice([0, 0, 0, 0, 0, 1, 1, 2])))
        form = self.random.choice(["rows"] * 8 + ["groups"] * 7 + ["global"] + ["distinct"] * 2)
        if wanted is not None:
            select = self._wanted(found, form, wanted)
        elif form in ("groups", "global"):
            select = self._grouped(found, form)
        else:
            select = self._plain_items(found, form == "distinct")
        self.rows = 1.0 if form == "global" else max(1.0, rows / 3) if form in ("groups", "distinct") else rows
        select = replace(select, where=where)
        if self.chance(0.1):
            select = replace(select, order=self._first(select, found))
        return select

    def _from(self, levels: int, scope: Sequence[Named]) -> _Scope:
        """One to three sources, each joined to an earlier one on equal columns."""
        found = _Scope(self.random)
        for number in range(self.random.choice([1, 1, 1, 2, 2, 2, 2, 3])):
            source, rows = self._source(levels, scope, [s for s in found.sources if isinstance(s.of, str)])
            links = self._links(found, source) if number else []
            after = found.rows * rows / 4 ** len(links)
            if number and (after > MOST_ROWS or not (links or (after < 60 and self.chance(0.5)))):
                continue
            found.rows = max(1.0, after)
            found.sources.append(self._linked(found, source, links))
        return found

    def _source(self, levels: int, scope: Sequence[Named], earlier: Sequence[Source]) -> tuple[Source, float]:
        self._aliases += 1
        alias = f"q{self._aliases}"
        if levels > 1 and self.chance(0.4):
            inner = self.query(levels - 1, scope)
            shown = self._renamed(columns(inner))
            return Source(inner, alias, shown, renamed=shown != columns(inner)), self.rows
        named = self.random.choice(scope)
        if earlier and self.chance(0.35):
            # A self-join.
            name = self.random.choice(earlier).of
            named = next(n for n in scope if n.name == name)
        if not earlier and self.chance(0.2):
            alias = named.name
        return Source(named.name, alias, named.columns), named.rows

    def _links(self, found: _Scope, source: Source) -> list[tuple[tuple[str, Column], Column]]:
        pairs = [
            (known, column)
            for known in found.all()
            for column in source.columns
            if known[1].kind.family == column.kind.family
        ]
        if not pairs:
            return []
        return self.random.sample(pairs, min(len(pairs), self.random.choice([1, 1, 1, 1, 1, 1, 2])))

    def _linked(self, found: _Scope, source: Source, links: list[tuple[tuple[str, Column], Column]]) -> Source:
        on = tuple(
            f"{alias}.{left.name} = {source.alias}.{right.name}"
            if self.chance(0.5)
            else f"{source.alias}.{right.name} = {alias}.{left.name}"
            for (alias, left), right in links
        )
        using = tuple(right.name for _, right in links)
        shown = [c.name for _, c in found.all()]
        # JOIN sees the sources behind the last comma only.
        commas = [n for n, s in enumerate(found.sources) if n and not s.joined]
        seen = {s.alias for s in found.sources[commas[-1] if commas else 0 :]}
        if any(alias not in seen for (alias, _), _ in links):
            return replace(source, on=on)
        if (
            links
            and len(set(using)) == len(using)
            and all(left.name == right.name and shown.count(right.name) == 1 for (_, left), right in links)
            and self.chance(0.5)
        ):
            return replace(source, on=on, joined=True, using=using)
        return replace(source, on=on, joined=self.chance(0.6))

    def _value(self, found: _Scope, family: str | None = None) -> Expr:
        """A column, or an expression over a column or two; a literal where there is no column of the family."""
        value = found.column(family)
        if value is None:
            return self._literal(family or "integer")
        if not self.chance(0.25):
            return value
        other = found.column(value.kind.family) or value
        text, other_text = value.text, other.text

        def shaped(shape: str, kind: Kind) -> Expr:
            return Expr(shape.format(text, other_text), shape.format(value.plain, other.plain), kind)

        literal = self.random.choice(LITERALS.get(value.kind.family, ("NULL",)))
        choices = [
            shaped("COALESCE({0}, {1})", _meet(value.kind, other.kind)),
        ]
        match value.kind.family:
            case "integer":
                choices += [shaped("{0} % 3", value.kind), shaped(f"COALESCE({{0}}, {literal})", value.kind)]
                choices.append(shaped("CASE WHEN {0} = {1} THEN 1 ELSE 2 END", INT))
            case "string":
                choices += [shaped("upper({0})", value.kind), shaped("{0} || '+'", value.kind)]
                choices.append(shaped(f"COALESCE({{0}}, {literal})", value.kind))
            case "double":
                choices.append(shaped("{0} * 2", DOUBLE))
            case "boolean":
                choices.append(shaped("NOT {0}", BOOLEAN))
        if family is None:
            choices += [shaped("({0} IS NULL)", BOOLEAN), shaped("CASE WHEN {0} IS NULL THEN 0 ELSE 1 END", INT)]
        return self.random.choice(choices)

    def _literal(self, family: str) -> Expr:
        kinds = {k.family: k for k in (INT, DOUBLE, QUOTIENT, BOOLEAN, STRING, DATE)}
        text = self.random.choice(LITERALS.get(family, ("NULL",)))
        if family.startswith("decimal"):
            scale = int(family.removeprefix("decimal"))
            kind = decimal(3 + scale, scale)
            text = f"CAST({text} AS {kind.sql})"
        else:
            kind = kinds[family]
        return Expr(text, text, kind)

    def _condition(self, found: _Scope, one: bool = False) -> Expr:
        """A condition over the columns of one source."""
        source = self.random.choice(found.sources)
        column = self.random.choice(source.columns)
        value = found.expr(source.alias, column)
        same = [c for c in source.columns if c.kind.family == column.kind.family and c.name != column.name]
        literal = self.random.choice(LITERALS.get(column.kind.family, ("NULL",)))
        shapes = ["{0} IS NOT NULL"] * 4 + ["{0} IS NULL"] if self.chance(0.2) else []
        if column.kind.family in LITERALS and not shapes:
            shapes += [f"{{0}} <> {literal}", f"{{0}} <= {literal}", f"{{0}} >= {literal}"]
            shapes += [f"{{0}} <> {literal}", f"({{0}} IS NULL OR {{0}} >= {literal})"]
            shapes += [f"{{0}} = {literal}"] * self.chance(0.5)
        if same and self.chance(0.3):
            other = found.expr(source.alias, self.random.choice(same))
            shapes = [f"{{0}} < {other.text}", f"{{0}} <> {other.text}", f"{{0}} IS NOT DISTINCT FROM {other.text}"]
        shape = self.random.choice(shapes or ["{0} IS NOT NULL"])
        text = shape.format(value.text)
        if one and len(found.sources) > 1:
            # Columns that USING merges belong to all of its sources unless they are written with an alias.
            text = text.replace(f" {value.text} ", f" {source.alias}.{column.name} ")
        return Expr(text, text, BOOLEAN)

    def _named(self, values: Sequence[Expr]) -> tuple[Item, ...]:
        names = self.random.sample(NAMES, len(values)) if self.chance(0.5) else list(NAMES[: len(values)])
        items = []
        for value, name in zip(values, names, strict=True):
            own = value.text.rpartition(".")[2] if " " not in value.text else ""
            bare = own in _COLUMN_NAMES and own not in names and self.chance(0.5)
            items.append(Item(value, own, named=False) if bare else Item(value, name))
        shown = [item.name for item in items]
        return tuple(
            item if shown.count(item.name) == 1 else Item(item.value, name)
            for item, name in zip(items, names, strict=True)
        )

    def _plain_items(self, found: _Scope, distinct: bool) -> Select:
        sources = tuple(found.sources)
        every = found.all()
        if len({c.name for _, c in every}) == len(every) <= 5 and self.chance(0.3):
            items = tuple(Item(Expr(f"{a}.{c.name}", f"{a}.{c.name}", c.kind), c.name) for a, c in every)
            star = "*" if self.chance(0.6) else ", ".join(f"{s.alias}.*" for s in sources)
            return Select(sources, items, distinct=distinct, star=star)
        values = [self._value(found) for _ in range(self.random.choice([1, 2, 2, 3, 3]))]
        return Select(sources, self._named(values), distinct=distinct)

    def _wanted(self, found: _Scope, form: str, wanted: tuple[Kind, ...]) -> Select:
        """A SELECT whose outputs have types of some families."""
        groups: list[Expr] = []
        values = []
        for kind in wanted:
            family = "double" if kind.family == "quotient" else kind.family
            value = found.column(family)
            if value is None or self.chance(0.1):
                values.append(_cast(self._literal(family), kind))
            elif form == "groups" and self.chance(0.7):
                groups.append(value)
                values.append(_cast(value, kind))
            elif form in ("groups", "global"):
                name = "COUNT" if kind == BIGINT else self.random.choice(["MIN", "MAX"])
                if family == "boolean":
                    name = "BOOL_OR"
                call = Expr(f"{name}({value.text})", f"{name}({value.plain})", value.kind)
                values.append(_cast(call, BIGINT if name == "COUNT" else kind))
            else:
                values.append(_cast(value, kind))
        if form == "groups" and not groups:
            groups.append(found.column() or values[0])
        grouped = tuple(groups) if form == "groups" else () if form == "global" else None
        items = self._named(values)
        return Select(tuple(found.sources), items, distinct=form == "distinct", groups=grouped)

    def _grouped(self, found: _Scope, form: str) -> Select:
        groups = []
        if form == "groups":
            for _ in range(self.random.choice([1, 1, 1, 2])):
                value = self._value(found) if self.chance(0.25) else found.column()
                assert value is not None
                if value not in groups and not value.text.replace(".", "").isdigit():
                    groups.append(value)
        if form == "groups" and not groups:
            groups.append(found.column() or self._value(found))
        shown = [g for g in groups if not self.chance(0.12)]
        calls = [self._aggregate(found) for _ in range(self.random.choice([0, 1, 1, 1, 2, 2] if shown else [1, 1, 2]))]
        calls = [self._over(call) if self.chance(0.12) else call for call in calls]
        values = shown + calls
        if self.chance(0.3):
            self.random.shuffle(values)
        having = None
        if self.chance(0.15):
            count = self.random.choice(["COUNT(*) > 1", "COUNT(*) < 6", "COUNT(*) % 2 = 1"])
            having = Expr(count, count, BOOLEAN)
            if self.chance(0.5):
                call = self._aggregate(found)
                having = Expr(f"({call.text}) IS NOT NULL", f"({call.plain}) IS NOT NULL", BOOLEAN)
                if call.kind.family == "integer":
                    having = Expr(f"{call.text} >= 1", f"{call.plain} >= 1", BOOLEAN)
        return Select(tuple(found.sources), self._named(values), groups=tuple(groups), having=having)

    def _over(self, call: Expr) -> Expr:
        """An expression over an aggregate."""
        match call.kind.family:
            case "integer":
                return Expr(f"{call.text} % 4", f"{call.plain} % 4", call.kind)
            case "boolean":
                return Expr(f"NOT {call.text}", f"NOT {call.plain}", BOOLEAN)
            case _:
                return Expr(f"({call.text} IS NULL)", f"({call.plain} IS NULL)", BOOLEAN)

    def _aggregate(self, found: _Scope) -> Expr:
        """An aggregate over a column, now and then of DISTINCT values or with FILTER."""
        kind = self.random.choice(
            ["count"] * 3 + ["sum"] * 4 + ["avg"] * 2 + ["extreme"] * 3 + ["distinct", "boolean", "variance"]
        )
        if kind == "count" and self.chance(0.6):
            return self._filtered(found, "COUNT(*)", "count(*)", BIGINT)
        if kind in ("sum", "avg", "variance"):
            numbers = [
                (a, c)
                for a, c in found.all()
                if c.kind.family in ("integer", "double", "quotient") or c.kind.family.startswith("decimal")
            ]
            if numbers:
                alias, column = self.random.choice(numbers)
                return self._numeric(found, kind, found.expr(alias, column))
            kind = "count"
        if kind == "boolean":
            value = found.column("boolean") if self.chance(0.5) else None
            value = value or self._condition(found)
            name = self.random.choice(["BOOL_AND", "BOOL_OR"])
            return self._filtered(found, f"{name}({value.text})", f"{name}({value.plain})", BOOLEAN)
        value = found.column()
        assert value is not None
        if kind == "extreme":
            name = self.random.choice(["MIN", "MAX"])
            return self._filtered(found, f"{name}({value.text})", f"{name}({value.plain})", value.kind)
        name = "COUNT(DISTINCT " if kind == "distinct" else "COUNT("
        return self._filtered(found, f"{name}{value.text})", f"{name}{value.plain})", BIGINT)

    def _numeric(self, found: _Scope, kind: str, value: Expr) -> Expr:
        """SUM, AVG, VARIANCE or STDDEV; what DuckDB does not compute exactly is computed by `exact_functions`."""
        family = value.kind.family
        distinct = "DISTINCT " if kind != "variance" and self.chance(0.12) else ""
        whole = family == "integer" or family.startswith("decimal")
        number = "BIGINT" if family == "integer" else value.kind.sql
        listed = f"list(CAST({value.plain} AS VARCHAR))"

        def exact(function: str) -> Callable[[str], str]:
            return lambda kept: f"exact('{function}', '{number}', {bool(distinct)}, {listed}{kept})"

        if kind == "sum" and (whole or family == "double"):
            given = BIGINT if family == "integer" else value.kind
            if family.startswith("decimal"):
                given = decimal(min(38, value.kind.precision + 10), value.kind.scale)
            return self._filtered(
                found,
                f"SUM({distinct}{value.text})",
                lambda kept: f"CAST(sum({distinct}{value.plain}){kept} AS {given.sql})",
                given,
            )
        if kind in ("sum", "avg"):
            given = QUOTIENT
            if kind == "avg" and family.startswith("decimal"):
                given = decimal(min(38, value.kind.precision + 4), min(38, value.kind.scale + 4))
            call = exact(kind)
            text = f"{kind.upper()}({distinct}{value.text})"
            return self._filtered(found, text, lambda kept: f"CAST({call(kept)} AS {given.sql})", given)
        name, function, root = self.random.choice(
            [
                ("VAR_POP", "var_pop", False),
                ("VARIANCE", "var_samp", False),
                ("STDDEV_POP", "var_pop", True),
                ("STDDEV", "var_samp", True),
            ]
        )
        call = exact(function)

        def plain(kept: str) -> str:
            text = f"CAST({call(kept)} AS DOUBLE)"
            return f"sqrt({text})" if root else text

        return self._filtered(found, f"{name}({value.text})", plain, QUOTIENT)

    def _filtered(self, found: _Scope, text: str, plain: str | Callable[[str], str], kind: Kind) -> Expr:
        """An aggregate, with FILTER now and then."""
        kept = ""
        if self.chance(0.12):
            kept = f" FILTER (WHERE {self._condition(found).text})"
        return Expr(text + kept, plain(kept) if callable(plain) else plain + kept, kind)

    def _first(self, select: Select, found: _Scope) -> Order:
        """ORDER BY and LIMIT, by outputs or by something that is not shown."""
        keys = []
        for _ in range(self.random.choice([1, 1, 2])):
            place = self.random.randrange(len(select.items))
            item = select.items[place]
            value = Expr(item.name, item.name if select.distinct else item.value.plain, item.value.kind)
            ways = [str(place + 1), *([item.name] if item.named and not select.star else [])]
            text = self.random.choice(ways)
            if not select.distinct and self.chance(0.25):
                value = found.column() if select.groups is None else self._aggregate(found)  # type: ignore[assignment]
                text = value.text
            keys.append(Key(text, value, self.chance(0.5), self._nulls()))
        return self._order(tuple(keys))


def varied(random: Random, query: Query) -> Query:
    """A query that differs from a given one in one clause, or not at all; its columns are the same."""
    match query:
        case Select():
            ways: list[Select] = []
            for place, source in enumerate(query.sources):
                if not isinstance(source.of, str):
                    inner = replace(source, of=varied(random, source.of))
                    ways += [replace(query, sources=(*query.sources[:place], inner, *query.sources[place + 1 :]))] * 2
            if query.where:
                ways.append(replace(query, where=query.where[1:]))
            if query.having is not None:
                ways.append(replace(query, having=None))
            if query.order is not None:
                ways.append(replace(query, order=replace(query.order, limit=query.order.limit + 1)))
            elif query.groups is None:
                ways.append(replace(query, distinct=not query.distinct))
            return random.choice(ways or [query])
        case Combined():
            kind, _, keep = query.word.partition(" ")
            other = random.choice(["UNION", "EXCEPT", "INTERSECT"])
            words = [kind if keep else f"{kind} ALL", f"{other} {keep}".strip()]
            ways_of: list[Query] = [replace(query, word=word) for word in words]
            ways_of.append(replace(query, left=varied(random, query.left)))
            ways_of.append(replace(query, right=varied(random, query.right)))
            return random.choice(ways_of)
        case With():
            if random.random() < 0.5:
                body = varied(random, query.body)
                assert isinstance(body, Select | Combined)
                return replace(query, body=body)
            place = random.randrange(len(query.definitions))
            each = replace(query.definitions[place], query=varied(random, query.definitions[place].query))
            return replace(query, definitions=(*query.definitions[:place], each, *query.definitions[place + 1 :]))


def _reads(query: Query, name: str) -> bool:
    """Whether a query or a block in it reads a name that WITH may give to something else."""
    match query:
        case Select():
            return any(s.of == name if isinstance(s.of, str) else _reads(s.of, name) for s in query.sources)
        case Combined():
            return _reads(query.left, name) or _reads(query.right, name)
        case With():
            return any(_reads(d.query, name) for d in query.definitions) or _reads(query.body, name)


def _meet(left: Kind, right: Kind) -> Kind:
    """The type of COALESCE."""
    if left.family == "integer":
        return BIGINT if BIGINT in (left, right) else left
    if left.family.startswith("decimal"):
        return left if left.precision >= right.precision else right
    return left


def _cast(value: Expr, kind: Kind) -> Expr:
    """The value as a type of its family; it is left as it is where a set operation finds that type by itself."""
    if value.kind == kind or (value.kind.family == kind.family == "integer"):
        return value
    if value.kind.sql == kind.sql:
        return replace(value, kind=kind)
    return Expr(f"CAST({value.text} AS {kind.sql})", f"CAST({value.plain} AS {kind.sql})", kind)
