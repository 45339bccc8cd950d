"""The names of parts of an expression in messages: their SQL, and the text that calls carry for errors of rows."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from sqlglot import exp
from sqlglot.dialects import Spark

from livejoin.query.scalar import Call
from livejoin.sql.parse.copying import rewritten, sql_of
from livejoin.sql.parse.parse import NAME
from livejoin.sql.parse.source import shown
from livejoin.sql.parse.walking import nodes

STANDS_FOR = "stands for"  # in the ``meta`` of nodes that were made: the text of what they are made of
_SHOWN_NODES = 64
_SIGNS: dict[type[exp.Expr], str] = {
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.BitwiseXor: "^",
    exp.BitwiseNot: "~",
    exp.BitwiseLeftShift: "<<",
    exp.BitwiseRightShift: ">>",
    exp.Bracket: "[...]",
    exp.ConcatWs: "CONCAT_WS",
    exp.Tuple: "(..., ...)",
    exp.Dot: "a dot behind a value",
    exp.Alias: "AS within an expression",
    exp.Aliases: "AS within an expression",
    exp.JSONExtract: "->",
    exp.JSONExtractScalar: "->>",
    exp.JSONBContainsTopKey: "?",
    exp.Lambda: "->",
}


def standing_for(node: exp.Expr, text: str) -> exp.Expr:
    """A node that replaces what users wrote, and is shown by their text."""
    for part in nodes(node):
        part.meta.setdefault(STANDS_FOR, text)
    return node


def text_of(node: exp.Expr) -> str:
    """The SQL of a node as users wrote it, shortened to its last part if it is long."""
    if STANDS_FOR in node.meta:
        return str(node.meta[STANDS_FOR])
    if _is_short(node):
        return whole_text(node)
    last = node.args.get("expression")
    return f"... {shown(last)}" if isinstance(last, exp.Expr) and _is_short(last) else "..."


def whole_text(node: exp.Expr) -> str:
    """The SQL of a node as users wrote it, however long it is."""
    if any(STANDS_FOR in part.meta for part in nodes(node)):
        return shown(rewritten(node, _as_written))
    return shown(node)


def _as_written(part: exp.Expr) -> exp.Expr:
    return exp.var(part.meta[STANDS_FOR]) if STANDS_FOR in part.meta else part


def name_of(node: exp.Expr) -> str:
    """The name of a node's function or operator in SQL."""
    if isinstance(node, exp.Anonymous):
        return str(node.name).upper()
    written = node.meta.get(NAME)
    if written is None and type(node) in _SIGNS:
        return _SIGNS[type(node)]
    return str(written or (node.sql_name() if isinstance(node, exp.Func) else node.key)).upper()


def column_text(name: str) -> str:
    """A column in Spark SQL, quoted if needed."""
    is_word = name.upper() in Spark.Tokenizer.KEYWORDS
    return sql_of(exp.to_identifier(name, quoted=True if is_word else None), "spark")


def _is_short(node: exp.Expr) -> bool:
    return len(list(islice(node.walk(), _SHOWN_NODES + 1))) <= _SHOWN_NODES


def labelled(call_: Call, text: str) -> Call:
    """A call that carries the text of a node, together with the inner calls made for it."""
    arguments = tuple(
        labelled(part, text) if isinstance(part, Call) and not part.text else part for part in call_.arguments
    )
    return replace(call_, arguments=arguments, text=text)
