"""Aggregate and window functions that are not maintained: how a call of one is recognised, and what works instead.

Spark, DuckDB and sqlglot know some hundred aggregates. Those without a node of sqlglot's own are told by their names:
DuckDB's catalog has its own, and a list here has those that only Spark has.
"""

from __future__ import annotations

from typing import Literal

from sqlglot import exp

from livejoin.query.functions import kind_of

Kind = Literal["aggregate", "window"]

MAINTAINED = (
    "the aggregates that are maintained are COUNT, SUM, AVG, VARIANCE, STDDEV, MIN, MAX, BOOL_AND, BOOL_OR and "
    "ARRAY_AGG, with DISTINCT and FILTER"
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
        "try_avg",
        "try_sum",
        "vector_avg",
        "vector_sum",
    }
)

# The names under which the text may have what sqlglot gives one node without a position; see `spellings`.
_SPELLINGS: dict[type[exp.Expr], frozenset[str]] = {
    exp.GroupConcat: frozenset({"string_agg", "listagg", "group_concat"}),
    exp.Quantile: frozenset({"percentile", "quantile"}),
    exp.ApproxQuantile: frozenset({"percentile_approx", "approx_percentile", "approx_quantile"}),
    exp.ArgMax: frozenset({"max_by", "arg_max", "argmax"}),
    exp.ArgMin: frozenset({"min_by", "arg_min", "argmin"}),
}

_LIST = "keep the values with ARRAY_AGG and compute it from the list that you read"
_ONE_VALUE = "rows have no order here; take MIN or MAX, which give one value of a group whatever the order"
_SKETCH = "COUNT(DISTINCT ...) is maintained, and exact"
_MOMENTS = (
    "it is an expression over sums that are maintained: COUNT(*), SUM(x), SUM(y), SUM(x * y), SUM(x * x), SUM(y * y)"
)
_ROW_OF = "ORDER BY ... LIMIT 1 keeps that row of a whole result; for groups keep MAX or MIN, and look its row up"
_SETS = "it tells grouping sets apart, and GROUP BY has one grouping here; leave it out"
_BITS = "for each bit that counts write BOOL_AND or BOOL_OR of (x & bit) <> 0"
_EXACT_SUM = "write SUM or AVG: a commit that brings a sum beyond its type is refused and changes nothing"
_HISTOGRAM = "GROUP BY the value too, with COUNT(*), gives how often each one is there"

_REMEDIES: dict[str, str] = {
    **dict.fromkeys(["string_agg", "listagg", "group_concat"], "write ARRAY_JOIN(ARRAY_AGG(x), ',')"),
    **dict.fromkeys(
        ["percentile", "percentile_cont", "percentile_disc", "percentile_approx", "approx_percentile", "median"], _LIST
    ),
    **dict.fromkeys(
        ["quantile", "quantile_cont", "quantile_disc", "approx_quantile", "reservoir_quantile", "mad", "list"], _LIST
    ),
    **dict.fromkeys(
        ["mode", "histogram", "histogram_numeric", "histogram_exact", "entropy", "approx_top_k"], _HISTOGRAM
    ),
    **dict.fromkeys(["first", "last", "first_value", "last_value", "any_value", "arbitrary"], _ONE_VALUE),
    **dict.fromkeys(["approx_count_distinct", "approx_distinct", "hll_sketch_agg"], _SKETCH),
    **dict.fromkeys(["corr", "covar_pop", "covar_samp"], _MOMENTS),
    **dict.fromkeys(["max_by", "min_by", "arg_max", "arg_min", "argmax", "argmin"], _ROW_OF),
    **dict.fromkeys(["grouping", "grouping_id"], _SETS),
    **dict.fromkeys(["bit_and", "bit_or"], _BITS),
    **dict.fromkeys(["try_sum", "try_avg", "fsum", "favg", "sumkahan", "kahan_sum", "sum_no_overflow"], _EXACT_SUM),
    **dict.fromkeys(["product"], "of positive numbers it is EXP(SUM(LN(x)))"),
    **dict.fromkeys(["geomean", "geometric_mean"], "of positive numbers it is EXP(AVG(LN(x)))"),
    **dict.fromkeys(["skewness", "kurtosis", "kurtosis_pop"], "it is an expression over SUM(x), SUM(x * x), ..."),
    **dict.fromkeys(["wavg", "weighted_avg"], "write SUM(x * weight) / SUM(weight)"),
    "sem": "write STDDEV(x) / SQRT(COUNT(x))",
    "bool_xor": "write COUNT_IF(x) % 2 = 1",
}


def unmaintained(node: exp.Expr) -> Kind | None:
    """Whether a node that is none of the calls that are maintained calls an aggregate or a window function.

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
    """What works in the place of an aggregate that is not maintained.

    Args:
        written: Its name in the text.
        node: Its call.
    """
    name = written.lower()
    if name.startswith("regr_"):
        return _MOMENTS
    return _REMEDIES.get(name) or _REMEDIES.get(_plain_name(node)) or MAINTAINED


def _plain_name(node: exp.Expr) -> str:
    if isinstance(node, exp.Anonymous):
        return node.name.lower()
    return node.sql_name().lower() if isinstance(node, exp.Func) else node.key
