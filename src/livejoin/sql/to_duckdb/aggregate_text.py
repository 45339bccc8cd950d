"""Aggregates as DuckDB text, with Spark's types, and with determined results where DuckDB leaves them open."""

from __future__ import annotations

from collections.abc import Sequence

from livejoin.schema import SqlType
from livejoin.sql.lower.grouped.aggregates import WrittenAggregate
from livejoin.sql.scalars.result_types import average_type, duckdb_type, sum_type

_NOT_NULL = "({}) IS NOT NULL"


def aggregate_text(
    call: WrittenAggregate, values: Sequence[str], kinds: Sequence[SqlType], order: str | None, kept: Sequence[str]
) -> str:
    """An aggregate over the rows that satisfy conditions, with Spark's result type.

    Args:
        call: The aggregate.
        values: The arguments as text.
        kinds: The types of the arguments.
        order: The order of a list.
        kept: The conditions.
    """
    if call.name == "count_if":
        return f"count({'DISTINCT ' + values[0] if call.distinct else '*'})" + _where([*values, *kept])
    if call.name == "count":
        counted = "DISTINCT " + _row(values) if call.distinct else "*"
        return f"count({counted})" + _where([*map(_NOT_NULL.format, values), *kept])
    if len(values) == 2:
        return _of_two(call, values, kept)
    return _of_one(call, values[0], kinds[0], order, kept)


def as_type(value: str, kind: SqlType | None) -> str:
    """A value cast to a type, if one is given: DuckDB may have another one."""
    return value if kind is None else f"CAST({value} AS {duckdb_type(kind)})"


def _of_one(call: WrittenAggregate, value: str, kind: SqlType, order: str | None, kept: Sequence[str]) -> str:
    distinct = "DISTINCT " if call.distinct or call.name == "array_unique" else ""
    double = f"CAST({value} AS DOUBLE)"

    def over(function: str, of: str = value) -> str:
        return f"{function}({distinct}{of})" + _where(kept)

    match call.name:
        case "sum" | "avg" | "try_sum" | "try_avg" if kind.kind == "double":
            # Sums that do not lose the last digits, where they are finite.
            plain = call.name.removeprefix("try_")
            exact = "fsum" if plain == "sum" else "favg"
            return f"CASE WHEN isfinite({over('sum')}) THEN {over(exact)} ELSE {over(plain)} END"
        case "sum":
            return f"CAST({over('sum')} AS {sum_type(kind)})"
        case "try_sum":
            return f"TRY_CAST({over('sum')} AS {sum_type(kind)})"
        case "avg" | "try_avg" if kind.kind == "decimal":
            return _decimal_average(over("sum"), over("count"), kind)
        case "try_avg":
            return over("avg")
        case "string_agg" | "array_agg" | "array_unique":
            return _list(call, value, order, distinct, kept)
        case "percentile_cont" | "percentile_disc" | "percentile_approx":
            function = "percentile_cont" if call.name == "percentile_cont" else "percentile_disc"
            of = value if call.name == "percentile_approx" else double
            return _percentiles(call, function, f"{distinct}{of}" if distinct else of, kept)
        case "mode":
            way = " DESC" if call.form.order is not None and call.form.order.descending else ""
            return f"mode({value} ORDER BY {value}{way})" + _where(kept)
        case "skewness":
            # DuckDB's is that of a sample, which has a factor.
            n = over("count")
            of_sample = f"{over('skewness', double)} * ({n} - 2) / sqrt(CAST({n} AS DOUBLE) * ({n} - 1))"
            return f"CASE WHEN {over('var_pop', double)} > 0 THEN CASE WHEN {n} > 2 THEN {of_sample} ELSE 0 END END"
        case "kurtosis":
            return f"CASE WHEN {over('var_pop', double)} > 0 THEN {over('kurtosis_pop', double)} END"
        case _:
            return over(call.name)


def _of_two(call: WrittenAggregate, values: Sequence[str], kept: Sequence[str]) -> str:
    if call.name in ("min_by", "max_by"):
        value, by = values
        take = "first" if call.name == "min_by" else "last"
        return f"{take}({value} ORDER BY {by}, {value} NULLS FIRST)" + _where([_NOT_NULL.format(by), *kept])
    y, x = (f"CAST({value} AS DOUBLE)" for value in values)
    both = _where([*map(_NOT_NULL.format, values), *kept])
    found = f"{call.name}({y}, {x}){both}"
    match call.name:
        case "corr":
            return f"CASE WHEN var_pop({x}){both} > 0 AND var_pop({y}){both} > 0 THEN {found} END"
        case "regr_slope" | "regr_intercept" | "regr_r2":
            return f"CASE WHEN var_pop({x}){both} > 0 THEN {found} END"
        case "regr_count":
            return f"CAST({found} AS BIGINT)"
        case _:
            return found


def _list(call: WrittenAggregate, value: str, order: str | None, distinct: str, kept: Sequence[str]) -> str:
    """A list in an order, or the text joined from it."""
    by = call.form.order
    way = " DESC NULLS LAST" if by is not None and by.descending else " NULLS FIRST"
    keys = value + way if order is None or distinct else f"{order}{way}, {value}{way}"
    conditions = _where([*kept, _NOT_NULL.format(value)])
    listed = f"list({distinct}{value} ORDER BY {keys}){conditions}"
    if call.name != "string_agg":
        return f"coalesce({listed}, [])"
    separator = call.form.separator.replace("'", "''")
    return f"array_to_string({listed}, '{separator}')"


def _percentiles(call: WrittenAggregate, function: str, value: str, kept: Sequence[str]) -> str:
    order = call.form.order
    way = " DESC" if order is not None and order.descending else ""
    found = [
        f"{function}({fraction!r}) WITHIN GROUP (ORDER BY {value}{way}){_where(kept)}"
        for fraction in call.form.fractions
    ]
    if not call.form.is_array:
        return found[0]
    return f"CASE WHEN {found[0]} IS NOT NULL THEN [{', '.join(found)}] END"


def _where(conditions: Sequence[str]) -> str:
    return f" FILTER (WHERE {' AND '.join(f'({c})' for c in conditions)})" if conditions else ""


def _row(values: Sequence[str]) -> str:
    return values[0] if len(values) == 1 else f"row({', '.join(values)})"


def _decimal_average(total: str, count: str, kind: SqlType) -> str:
    """The quotient rounded half away from zero, by integer arithmetic: DuckDB divides decimals as doubles."""
    result = average_type(kind)
    assert result is not None, "a decimal has an average"
    unscaled = f"CAST(CAST({total} AS DECIMAL(38, {kind.scale})) * {10**kind.scale} AS HUGEINT)"
    doubled = f"abs({unscaled}) * {2 * 10 ** (result.scale - kind.scale)}"
    rounded = f"sign({unscaled}) * (({doubled} + {count}) // (2 * {count}))"
    unit = f"CAST('{10**-result.scale:.{result.scale}f}' AS DECIMAL({max(result.scale, 1)}, {result.scale}))"
    return f"CAST(CAST({rounded} AS DECIMAL(38, 0)) * {unit} AS {result})"
