"""Strategies for expressions over the columns of a join: scalars, conditions, arguments of sums, and aggregates.

Every expression is drawn as the engine's text and as plain text for DuckDB at once. Plain text computes sums that are
not whole, averages and variances by `exact_functions`, so that results are compared exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from random_queries import JoinRendering, Occurrence, fill
from scenario import ColumnType

AGGREGATES = (
    "count",
    "count distinct",
    "sum",
    "avg",
    "variance",
    "extreme",
    "boolean",
    "list",
    "choice",
    "rank",
    "bits",
)
"""The aggregates that are drawn beside COUNT(*)."""
NUMERIC = ("count", "sum", "avg", "variance")


@dataclass(frozen=True)
class Term:
    """An expression.

    Args:
        text: It in the engine's dialect.
        plain: It in DuckDB's.
        family: The family of its values, see `scenario.ColumnType`; of other decimals and lists a name of their own.
        number: The type of an argument whose sums do not overflow; of integers BIGINT, of decimals the scale counts.
    """

    text: str
    plain: str
    family: str
    number: str = ""

    def within(self, shape: str, family: str) -> Term:
        """The term in place of every ``{0}`` of a template."""
        return Term(shape.format(self.text), shape.format(self.plain), family)


@dataclass
class Terms:
    """Draws expressions over a join whose `body` is rendered."""

    draw: st.DrawFn
    join: JoinRendering

    def __post_init__(self) -> None:
        self.columns = [(n, c) for n, atom in enumerate(self.join.atoms) for c in range(len(atom.variables))]

    def term(self, shape: str, used: list[Occurrence], family: str, number: str = "") -> Term:
        """A template with one ``{}`` a column."""
        text, plain = (
            fill(shape, [self.join.reference(o) for o in used]),
            fill(shape, [self.join.plain(o) for o in used]),
        )
        return Term(text, plain, family, number)

    def type(self, column: Occurrence) -> ColumnType:
        """The declared type of a column."""
        return self.join.atoms[column[0]].type(column[1])

    def column(self) -> Term:
        """A column as it is."""
        column = self.draw(st.sampled_from(self.columns))
        return self.term("{}", [column], self.type(column).family)

    def scalar(self) -> Term:
        """A column, or an expression over columns of one or two atoms."""
        one, two = (self.draw(st.sampled_from(self.columns)) for _ in range(2))
        families = [self.type(c).family for c in (one, two)]
        shapes: list[tuple[str, list[Occurrence], str]] = [("{}", [one], families[0])] * 6
        shapes += [
            ("({} IS NULL)", [one], "boolean"),
            ("CASE WHEN {} IS NULL THEN 'none' ELSE 'some' END", [one], "string"),
            ("1 + 1", [], "integer"),
        ]
        if families[0] not in ("double", "float", "binary"):  # whose texts differ in DuckDB
            shapes.append(("COALESCE(CAST({} AS STRING), '-')", [one], "string"))
        if families[0] == families[1]:
            shapes += [("{} = {}", [one, two], "boolean"), ("COALESCE({}, {})", [one, two], families[0])]
        match families[0]:
            case "integer":
                shapes += [("{} % 7", [one], "integer"), ("CAST({} AS DECIMAL(30, 0)) * 2", [one], "decimal0")]
            case "double":
                shapes.append(("{} * 2", [one], "double"))
            case "date" | "timestamp":
                shapes.append(("year({})", [one], "integer"))
            case "string":
                shapes += [("upper({})", [one], "string"), ("length({})", [one], "integer")]
        return self.term(*self.draw(st.sampled_from(shapes)))

    def of_family(self, kind: ColumnType) -> Term:
        """A column of a type's family, or one of its literals."""
        columns = [c for c in self.columns if self.type(c).family == kind.family]
        if columns and self.draw(st.integers(0, 9)):
            return self.term("{}", [self.draw(st.sampled_from(columns))], kind.family)
        return self.term(f"CAST({self.draw(st.sampled_from(kind.literals))} AS {kind.sql})", [], kind.family)

    def condition(self) -> Term:
        """A condition over one atom or two, or a conjunction of such."""
        first = self._one_condition()
        if self.draw(st.integers(0, 3)) < 3:
            return first
        second = self._one_condition()
        return Term(f"({first.text}) AND ({second.text})", f"({first.plain}) AND ({second.plain})", "boolean")

    def _one_condition(self) -> Term:
        if self.draw(st.integers(0, 2)):
            shape, used = self.join.predicate(self.draw(st.integers(0, len(self.join.atoms) - 1)))
            return self.term(shape, used, "boolean")
        one, two = (self.draw(st.sampled_from(self.columns)) for _ in range(2))
        same = self.type(one).family == self.type(two).family
        shape = self.draw(
            st.sampled_from(["{} < {}", "{} = {}", "{} IS DISTINCT FROM {}"] if same else ["{} IS NULL OR {} IS NULL"])
        )
        return self.term(shape, [one, two], "boolean")

    def number(self, whole: bool) -> Term:
        """An argument of SUM, AVG or VARIANCE: a column, a product across tables, or any expression.

        Args:
            whole: Whether their sum is asked for, which must not overflow; averages and variances of BIGINT do not.
        """
        one = self._small()
        match self.draw(
            st.sampled_from(["column", "small", "product", "product", "scaled", "guarded", "sum", "constant"])
        ):
            case "column":
                return self._whole_column(whole)
            case "product":
                terms = [one, self._small(), *([self._small()] if self.draw(st.integers(0, 3)) == 3 else [])]
                return _product(terms) or one
            case "scaled" if one.number == "BIGINT":
                shape, number = self.draw(
                    st.sampled_from([("3 * {}", "BIGINT"), ("-({})", "BIGINT"), ("1.5 * ({})", "DECIMAL(30, 1)")])
                )
                return Term(shape.format(one.text), shape.format(one.plain), "number", number)
            case "guarded":
                condition = self.condition()
                otherwise = self.draw(st.sampled_from(["", " ELSE 0"])) if one.number == "BIGINT" else ""
                shape = "CASE WHEN {} THEN {}" + otherwise + " END"
                return Term(
                    shape.format(condition.text, one.text),
                    shape.format(condition.plain, one.plain),
                    "number",
                    one.number,
                )
            case "sum" if one.number == "BIGINT":
                two = self._small()
                if two.number == "BIGINT":
                    return Term(f"{one.text} + {two.text}", f"{one.plain} + {two.plain}", "number", "BIGINT")
            case "constant":
                return Term("2", "2", "number", "BIGINT")
        return one

    def _small(self) -> Term:
        """A number over one column that may be multiplied by two others."""
        column = self.draw(st.sampled_from(self.columns))
        kind = self.type(column)
        shape, number = "CAST({} % 100 AS INT)", "BIGINT"
        match kind.family:
            case "boolean":
                shape = "CASE WHEN {} THEN 1 ELSE 0 END"
            case "string":
                shape = "length({})"
            case "date" | "timestamp":
                shape = "CAST(year({}) AS BIGINT)"  # three years pass an INT, in which Spark multiplies them
            case "double":
                shape, number = "{}", "DOUBLE"
            case "float":
                shape, number = "CAST({} AS DOUBLE)", "DOUBLE"
            case "binary":
                shape = "octet_length({})"
            case "decimal2" | "decimal4":
                shape, number = "{}", kind.sql
        return self.term(shape, [column], "number", number)

    def _whole_column(self, whole: bool) -> Term:
        """A column with the edges of its type, as a number."""
        column = self.draw(st.sampled_from(self.columns))
        match self.type(column).sql:
            case "TINYINT" | "SMALLINT" | "INT":
                return self.term("{}", [column], "number", "BIGINT")
            case "BIGINT" if not whole:
                return self.term("{}", [column], "number", "BIGINT")
            case "BIGINT":
                return self.term("CAST({} AS DECIMAL(20, 0))", [column], "number", "DECIMAL(20, 0)")
            case "DOUBLE" | "DECIMAL(9, 2)" | "DECIMAL(30, 4)" as number:
                return self.term("{}", [column], "number", number)
            case _:
                return self.term("CASE WHEN {} IS NULL THEN 2 ELSE 3 END", [column], "number", "BIGINT")

    def aggregate(self, numeric: bool = False) -> Term:
        """An aggregate, with or without FILTER; only counts, sums and what follows from them if ``numeric``."""
        kinds = NUMERIC * 2 if numeric else AGGREGATES
        kind = self.draw(st.sampled_from(["count(*)", "sum", *kinds]))
        condition = self.condition() if self.draw(st.integers(0, 3)) == 3 else None
        match kind:
            case "count" | "count distinct":
                return self._count(condition, kind == "count distinct")
            case "sum" | "avg" | "variance":
                return self._numeric(kind, condition)
            case "extreme":
                value, name = self.scalar(), self.draw(st.sampled_from(["MIN", "MAX"]))
                return _call(name, value, condition, value.family)
            case "boolean":
                name, plain = self.draw(
                    st.sampled_from(
                        [("BOOL_AND", "bool_and"), ("EVERY", "bool_and"), ("BOOL_OR", "bool_or"), ("SOME", "bool_or")]
                    )
                )
                value = self.condition()
                return Term(
                    f"{name}({value.text})" + _filter(condition, True),
                    f"{plain}({value.plain})" + _filter(condition),
                    "boolean",
                )
            case "list":
                return self._list(condition)
            case "choice":
                return self._choice(condition)
            case "rank":
                return self._rank(condition)
            case "bits":
                column = self._small()
                name = self.draw(st.sampled_from(["BIT_AND", "BIT_OR", "BIT_XOR"]))
                shape = "CAST({0} AS INT)" if column.number == "BIGINT" else "CASE WHEN {0} > 1 THEN 5 ELSE 2 END"
                whole = column.within(shape, "integer")  # a cast of a fraction rounds in DuckDB
                return _call(name, whole, condition, "integer")
            case _:
                return _call("COUNT", Term("*", "*", ""), condition, "integer")

    def _varying(self) -> Term:
        """A scalar that DuckDB orders by: a constant would be the number of a column."""
        found = self.scalar()
        return self.column() if found.plain == "1 + 1" else found

    def _choice(self, condition: Term | None) -> Term:
        """A value of the row that is the first or the last in the order of another one."""
        value, by = self._varying(), self._varying()
        name, take = self.draw(st.sampled_from([("MIN_BY", "first"), ("MAX_BY", "last")]))
        kept = _filter(condition, False, f"({by.plain}) IS NOT NULL")
        plain = f"{take}({value.plain} ORDER BY {by.plain}, {value.plain} NULLS FIRST){kept}"
        return Term(f"{name}({value.text}, {by.text}){_filter(condition, True)}", plain, value.family)

    def _rank(self, condition: Term | None) -> Term:
        """The most frequent value, or a percentile that is one of the values."""
        if self.draw(st.booleans()):
            value = self._varying()
            way = self.draw(st.sampled_from(("", " DESC")))
            plain = f"mode({value.plain} ORDER BY {value.plain}{way}){_filter(condition)}"
            text = f"MODE() WITHIN GROUP (ORDER BY {value.text} DESC)" if way else f"MODE({value.text})"
            return Term(f"{text}{_filter(condition, True)}", plain, value.family)
        value, fraction = self._small(), self.draw(st.sampled_from(["0.0", "0.25", "0.5", "1.0"]))
        number = f"CAST({value.plain} AS DOUBLE)"
        plain = f"percentile_disc({fraction}) WITHIN GROUP (ORDER BY {number}){_filter(condition)}"
        text = f"PERCENTILE_DISC({fraction}) WITHIN GROUP (ORDER BY {value.text}){_filter(condition, True)}"
        return Term(text, plain, "double")

    def _count(self, condition: Term | None, distinct: bool) -> Term:
        values = [self.scalar() for _ in range(self.draw(st.sampled_from([1, 1, 2])))]
        if not distinct and len(values) == 1 and self.draw(st.integers(0, 4)) == 4:
            inner = self.condition()
            return Term(
                f"COUNT_IF({inner.text})" + _filter(condition, True),
                f"count(*){_filter(condition, False, inner.plain)}",
                "integer",
            )
        text = f"COUNT({'DISTINCT ' if distinct else ''}{', '.join(v.text for v in values)})" + _filter(condition, True)
        counted = "*"
        if distinct:
            counted = "DISTINCT " + (
                values[0].plain if len(values) == 1 else f"row({', '.join(v.plain for v in values)})"
            )
        plain = f"count({counted})" + _filter(condition, False, *(f"({v.plain}) IS NOT NULL" for v in values))
        return Term(text, plain, "integer")

    def _numeric(self, kind: str, condition: Term | None) -> Term:
        value = self.number(whole=kind == "sum")
        number = value.number
        distinct = self.draw(st.integers(0, 5)) == 5
        written = f"{'DISTINCT ' if distinct else ''}{value.text}"
        name, function, root = kind.upper(), kind, False
        if kind == "variance":
            name, function, root = self.draw(
                st.sampled_from(
                    [
                        ("VAR_POP", "var_pop", False),
                        ("VAR_SAMP", "var_samp", False),
                        ("VARIANCE", "var_samp", False),
                        ("STDDEV", "var_samp", True),
                        ("STDDEV_POP", "var_pop", True),
                        ("STDDEV_SAMP", "var_samp", True),
                    ]
                )
            )
        text = f"{name}({written})" + _filter(condition, True)
        if kind == "sum" and number != "DOUBLE":
            plain = f"sum({'DISTINCT ' if distinct else ''}{value.plain})" + _filter(condition)
            return Term(text, plain, "integer" if number == "BIGINT" else "number")
        values = f"list(CAST({value.plain} AS VARCHAR))" + _filter(condition)
        exact = f"exact('{function}', '{number}', {distinct}, {values})"
        if kind == "avg" and number.startswith("DECIMAL"):
            scale = int(number.rstrip(")").rpartition(" ")[2])
            return Term(text, f"CAST({exact} AS DECIMAL(38, {scale + 4}))", "number")
        plain = f"CAST({exact} AS DOUBLE)"
        return Term(text, f"sqrt({plain})" if root else plain, "double")

    def _list(self, condition: Term | None) -> Term:
        value = self.scalar()
        name, distinct = self.draw(
            st.sampled_from(
                [
                    ("ARRAY_AGG(", ""),
                    ("COLLECT_LIST(", ""),
                    ("ARRAY_AGG(DISTINCT ", "DISTINCT "),
                    ("COLLECT_SET(", "DISTINCT "),
                ]
            )
        )
        kept = _filter(condition, False, f"({value.plain}) IS NOT NULL")
        plain = f"coalesce(list({distinct}{value.plain} ORDER BY {value.plain}){kept}, [])"
        return Term(f"{name}{value.text}){_filter(condition, True)}", plain, "list")


def _product(terms: list[Term]) -> Term | None:
    """The product of some terms if its type holds it."""
    numbers = {t.number for t in terms}
    match sorted(numbers):
        case ["BIGINT"] | ["DOUBLE"] | ["BIGINT", "DOUBLE"]:
            number = "DOUBLE" if "DOUBLE" in numbers else "BIGINT"
        case ["DECIMAL(9, 2)"] if len(terms) == 2:
            number = "DECIMAL(18, 4)"
        case ["BIGINT", "DECIMAL(9, 2)"] if len(terms) == 2:
            number = "DECIMAL(30, 2)"
        case _:
            return None
    return Term(" * ".join(t.text for t in terms), " * ".join(t.plain for t in terms), "number", number)


def _call(name: str, value: Term, condition: Term | None, family: str) -> Term:
    return Term(
        f"{name}({value.text})" + _filter(condition, True), f"{name}({value.plain})" + _filter(condition), family
    )


def _filter(condition: Term | None, written: bool = False, *others: str) -> str:
    """A FILTER clause, as the engine's text if ``written``; plain text may have other conditions."""
    conditions = [*others]
    if condition is not None:
        conditions.append(condition.text if written else condition.plain)
    return f" FILTER (WHERE {' AND '.join(f'({c})' for c in conditions)})" if conditions else ""
