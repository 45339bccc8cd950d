"""Unsupported aggregate and window functions: how their calls are recognised, and what works instead.

Spark, DuckDB and sqlglot know some hundred aggregates. Those for which sqlglot has no node are recognised by name:
DuckDB's catalog lists its own, and a table here lists those that only Spark has.
"""

from __future__ import annotations

from typing import Literal

from sqlglot import exp

from livejoin.query.functions import kind_of

Kind = Literal["aggregate", "window"]

MAINTAINED = (
    "take another one, or compute it from the rows of the view where you read them. 'livejoin docs aggregates' has "
    "all that are maintained"
)

OVER = (
    "any aggregate may be over a whole partition. Over a part of it may be COUNT, SUM, AVG, MIN, MAX, STDDEV, "
    "VARIANCE, FIRST_VALUE, LAST_VALUE and NTH_VALUE. 'livejoin docs window-functions' has all window functions"
)
WINDOW_FUNCTIONS = (
    *("ROW_NUMBER", "RANK", "DENSE_RANK", "PERCENT_RANK", "CUME_DIST", "NTILE", "LAG", "LEAD", "COUNT", "SUM", "AVG"),
    *("MIN", "MAX", "STDDEV", "VARIANCE", "FIRST_VALUE", "LAST_VALUE", "NTH_VALUE"),
)

# Nodes of sqlglot's for window functions; FIRST_VALUE and LAST_VALUE are aggregates too in Spark.
_WINDOW = (
    exp.CumeDist,
    exp.DenseRank,
    exp.Lag,
    exp.Lead,
    exp.Ntile,
    exp.NthValue,
    exp.PercentRank,
    exp.Rank,
    exp.RowNumber,
)

# Spark's aggregates that neither sqlglot nor DuckDB has.
_SPARKS = frozenset(
    {
        "approx_top_k_accumulate",
        "approx_top_k_combine",
        "bitmap_and_agg",
        "bool_xor",
        "count_min_sketch",
        "histogram_numeric",
        "hll_sketch_agg",
        "hll_union_agg",
        "kll_merge_agg_bigint",
        "kll_merge_agg_double",
        "kll_merge_agg_float",
        "kll_sketch_agg_bigint",
        "kll_sketch_agg_double",
        "kll_sketch_agg_float",
        "map_agg",
        "measure",
        "schema_of_json_agg",
        "schema_of_variant_agg",
        "theta_intersection_agg",
        "theta_sketch_agg",
        "theta_union_agg",
        "vector_avg",
        "vector_sum",
    }
)

# The names under which the text may have what sqlglot gives one node without a position; see `spellings`.
_SPELLINGS: dict[type[exp.Expr], frozenset[str]] = {
    exp.GroupConcat: frozenset({"string_agg", "listagg", "group_concat"}),
    exp.Quantile: frozenset({"percentile", "quantile"}),
    exp.ApproxQuantile: frozenset({"percentile_approx", "approx_percentile", "approx_quantile"}),
    exp.ApproxDistinct: frozenset({"approx_count_distinct", "approx_distinct"}),
    exp.ArgMax: frozenset({"max_by", "arg_max", "argmax"}),
    exp.ArgMin: frozenset({"min_by", "arg_min", "argmin"}),
}

_LIST = "keep the values with ARRAY_AGG and compute it from the list that you read"
_PERCENTILE = (
    "PERCENTILE(x, 0.5) is maintained, as Spark has it between two values, and "
    "PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY x), which is one of them"
)
_SKETCH = "COUNT(DISTINCT ...) is maintained, and exact"
_SETS = "it tells grouping sets apart, and GROUP BY has one grouping here; leave it out"
_EXACT_SUM = "write SUM or AVG: a commit that brings a sum beyond its type is refused and changes nothing"
_HISTOGRAM = "GROUP BY the value too, with COUNT(*), gives how often each one is there"

_REMEDIES: dict[str, str] = {
    **dict.fromkeys(["mad", "list"], _LIST),
    **dict.fromkeys(["quantile", "quantile_cont", "quantile_disc", "reservoir_quantile"], _PERCENTILE),
    **dict.fromkeys(["histogram", "histogram_numeric", "histogram_exact", "entropy", "approx_top_k"], _HISTOGRAM),
    **dict.fromkeys(["hll_sketch_agg"], _SKETCH),
    **dict.fromkeys(["grouping", "grouping_id"], _SETS),
    **dict.fromkeys(["fsum", "favg", "sumkahan", "kahan_sum", "sum_no_overflow"], _EXACT_SUM),
    **dict.fromkeys(["product"], "of positive numbers it is EXP(SUM(LN(x)))"),
    **dict.fromkeys(["geomean", "geometric_mean"], "of positive numbers it is EXP(AVG(LN(x)))"),
    **dict.fromkeys(["kurtosis_pop"], "KURTOSIS is it"),
    **dict.fromkeys(["wavg", "weighted_avg"], "write SUM(x * weight) / SUM(weight)"),
    "sem": "write STDDEV(x) / SQRT(COUNT(x))",
    **dict.fromkeys(["first", "last"], "it has TRUE or FALSE as the second argument; write FIRST(x ORDER BY key)"),
    "bool_xor": "write COUNT_IF(x) % 2 = 1",
}


def unmaintained(node: exp.Expr) -> Kind | None:
    """Whether a node calls an unsupported aggregate or window function, and which of the two.

    >>> unmaintained(exp.Median(this=exp.column("a"))), unmaintained(exp.Abs(this=exp.column("a")))
    ('aggregate', None)
    """
    if isinstance(node, _WINDOW):
        return "window"
    if isinstance(node, exp.AggFunc):
        return "aggregate"
    if isinstance(node, (exp.Anonymous, exp.List)):
        name = _plain_name(node)
        if name in _SPARKS:
            return "aggregate"
        match kind_of(name):
            case "aggregate" | "window" as found:
                return found
    return None


def spellings(node: exp.Expr) -> frozenset[str]:
    """The names that a call without a position may have in the text, in lower case."""
    own = _SPELLINGS.get(type(node), frozenset())
    return own | {name.lower() for name in node.sql_names()} if isinstance(node, exp.Func) else own


def instead_of(written: str, node: exp.Expr) -> str:
    """A remedy for an unsupported aggregate.

    Args:
        written: The name in the text.
        node: The call.
    """
    name = written.lower()
    return _REMEDIES.get(name) or _REMEDIES.get(_plain_name(node)) or MAINTAINED


def _plain_name(node: exp.Expr) -> str:
    if isinstance(node, exp.Anonymous):
        return node.name.lower()
    return node.sql_name().lower() if isinstance(node, exp.Func) else node.key
