"""EMIT FINAL behind a query that groups by a window of time: only the windows that a watermark has closed.

    SELECT k, COUNT(*) AS n FROM t GROUP BY k, window(ts, '10 minutes') EMIT FINAL

is read as

    SELECT * EXCEPT (livejoin_end) FROM (
        SELECT window.end AS livejoin_end, k, COUNT(*) AS n FROM t GROUP BY k, window(ts, '10 minutes')
    ) AS livejoin_windows WHERE livejoin_end <= (SELECT MAX(at) AS livejoin_at FROM livejoin_watermark_t)

so that the groups wait in the order of their ends, as rows wait for now(). A session is closed once its end is before
the watermark: a row at its end would still be part of it.

Law: rows of the view only come. No accepted change is of a time before the watermark, so that none is in a window that
has ended by then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import Token, TokenType, exp, tokenize

from livejoin.errors import SqlError, UnsupportedQueryError
from livejoin.schema.watermarks import SEALED_AT, WATERMARK_COLUMN, watermark_name
from livejoin.sql.parse.now import times_in
from livejoin.sql.parse.source import Source, offset_of, shown

_INNER = "livejoin_windows"
FINAL = "livejoin_final"
"""Where the promise is in the ``meta`` of a query."""

_WORDS = ("EMIT", "FINAL")
_SESSION = "session_window"
_WINDOWS = ("window", _SESSION)
_ALLOWED = (
    "EMIT FINAL stands at the end of a SELECT with GROUP BY window(ts, ...) or session_window(ts, ...) over one table "
    "with a watermark"
)
_READ_IT = "For anything else, let another query read that view: SELECT ... FROM the_view"
_CLAUSES = (
    ("with_", "WITH"),
    ("joins", "a join"),
    ("laterals", "LATERAL"),
    ("pivots", "PIVOT"),
    ("distinct", "DISTINCT"),
    ("qualify", "QUALIFY"),
    ("order", "ORDER BY"),
    ("sort", "SORT BY"),
    ("limit", "LIMIT"),
    ("offset", "OFFSET"),
)


@dataclass(frozen=True)
class EmitFinal:
    """What EMIT FINAL rests on.

    Args:
        table: The name of the table that has the watermark.
        column: The name of the column that the windows are of.
        offset: Where EMIT stands in the text.
        call: The window.
    """

    table: str
    column: str
    offset: int
    call: exp.Anonymous


@dataclass(frozen=True)
class Sealing:
    """The tables by which a query goes on where rows of its table are freed.

    Args:
        freed: The name of the table that has the time before which they are.
        sealed: The name of the table that has the closed windows of these rows; None if there is none yet.
    """

    freed: str
    sealed: str | None


def without_emit(source: Source) -> tuple[Source, Token | None]:
    """A text without EMIT FINAL at its end, and where it was; the same object if it is not there."""
    tokens = list(source.tokens)
    while tokens and tokens[-1].token_type == TokenType.SEMICOLON:
        tokens.pop()
    if len(tokens) < 3 or tuple(token.text.upper() for token in tokens[-2:]) != _WORDS:
        return source, None
    return Source(source.sql, tuple(tokens[:-2])), tokens[-2]


def is_final(sql: str) -> bool:
    """Whether a text ends with EMIT FINAL.

    >>> is_final("SELECT 1 emit final;"), is_final("SELECT 'EMIT FINAL'")
    (True, False)
    """
    return tuple(sql.rstrip("; \n\t").upper().split()[-len(_WORDS) :]) == _WORDS


def closed_windows(
    tree: exp.Expr, source: Source, emit: Token, sealing: Sealing | None = None
) -> tuple[Source, EmitFinal]:
    """The text that is read in place of a query with EMIT FINAL; the query begins in its second line.

    Args:
        tree: The query without the words.
        source: The tokens of the query.
        emit: The first of the words.
        sealing: The tables of what is freed; None where nothing is.

    Raises:
        UnsupportedQueryError: The query is none whose windows a watermark closes.
    """
    if not isinstance(tree, exp.Select):
        raise _refused(source, emit, "this is another query")
    call = _window(tree, source, emit)
    _refuse_clauses(tree, source, emit)
    found = EmitFinal(tree.args["from_"].this.name, call.expressions[0].name, emit.start, call)
    is_session = call.name.lower() == _SESSION
    bound = f"(SELECT MAX({WATERMARK_COLUMN}) AS livejoin_at FROM `{watermark_name(found.table)}`)"
    names, live, rest = "livejoin_end", "", ""
    if sealing is not None:
        names = "livejoin_start, livejoin_end"
        live = f" AND livejoin_start >= (SELECT MAX({WATERMARK_COLUMN}) AS livejoin_from FROM `{sealing.freed}`)"
        rest = f" UNION ALL SELECT * EXCEPT ({SEALED_AT}) FROM `{sealing.sealed}`" if sealing.sealed else ""
    text = (
        f"SELECT * EXCEPT ({names}) FROM (\n{source.sql[: emit.start]}\n"
        f") AS {_INNER} WHERE livejoin_end {'<' if is_session else '<='} {bound}{live}{rest}"
    )
    tokens = list(tokenize(text, "spark"))
    place = next(place for place, token in enumerate(tokens) if place and token.token_type == TokenType.SELECT)
    at = tokens[place]
    word = _SESSION if is_session else "window"
    field = f"{word}.end AS livejoin_end,"  # within the six letters of SELECT
    if sealing is not None:
        field = f"{word}.start AS livejoin_start, {field}"
    tokens[place + 1 : place + 1] = [
        Token(one.token_type, one.text, at.line, at.col, at.start + behind, at.start + behind, [])
        for behind, one in enumerate(tokenize(field, "spark"), 1)
    ]
    return Source(text, tuple(tokens)), found


def within(tokens: Sequence[Token], at: int) -> str | None:
    """What to write in place of EMIT FINAL that stands at an offset within a query; None if it does not stand there."""
    words = tuple(token.text.upper() for token in tokens if token.start >= at)[:2]
    if words != _WORDS:
        return None
    return (
        "EMIT FINAL stands at the end of a view's query, and not within a sub-query or WITH; make the SELECT before it "
        "a view of its own, CREATE VIEW closed AS SELECT ... EMIT FINAL, and read that view here"
    )


def as_given(error: SqlError, sql: str, final: EmitFinal) -> SqlError:
    """An error of the text that is read in place of a query, as one of the query."""
    line = max(error.line - 1, 0)
    if f"of '{_INNER}' is a list" in error.message:
        msg = (
            "a SELECT with EMIT FINAL cannot collect lists, as ARRAY_AGG and COLLECT_LIST do; leave them out, or leave "
            "out EMIT FINAL"
        )
        return Source(sql, ()).unsupported("EMIT FINAL", msg, final.offset)
    if isinstance(error, UnsupportedQueryError):
        return UnsupportedQueryError(error.message, sql, line, error.column, error.clause)
    return type(error)(error.message, sql, line, error.column)


def _window(select: exp.Select, source: Source, emit: Token) -> exp.Anonymous:
    """The window of time that a SELECT groups by."""
    group = select.args.get("group")
    calls = group.find_all(exp.Anonymous) if isinstance(group, exp.Group) else ()
    call = next((call for call in calls if call.name.lower() in _WINDOWS), None)
    if call is None:
        raise _refused(source, emit, "this SELECT groups by no window of time")
    if not call.expressions or not isinstance(call.expressions[0], exp.Column):
        msg = f"the time of {shown(call)} is no column; write the column that the watermark is of. {_ALLOWED}"
        raise source.unsupported("EMIT FINAL", msg, offset_of(call, emit.start))
    if group is not None and group.find(exp.Rollup, exp.Cube, exp.GroupingSets):
        raise _refused(source, emit, "ROLLUP, CUBE and GROUPING SETS have groups that no window closes")
    return call


def _refuse_clauses(select: exp.Select, source: Source, emit: Token) -> None:
    """Refuse what would let rows of the view go, or reads more than the one table.

    Raises:
        UnsupportedQueryError: There is such a clause.
    """
    for name, word in _CLAUSES:
        if select.args.get(name):
            raise _refused(source, emit, f"a SELECT with EMIT FINAL cannot have {word}")
    start = select.args.get("from_")
    if start is None or not isinstance(start.this, exp.Table) or any(True for _ in _queries_within(select)):
        raise _refused(source, emit, "this SELECT reads another query")
    if select.find(exp.Window):
        raise _refused(source, emit, "a SELECT with EMIT FINAL cannot have OVER")
    if times_in(select):
        raise _refused(source, emit, "rows of now() go as time goes on")


def _queries_within(select: exp.Select) -> list[exp.Query]:
    return [node for node in select.find_all(exp.Query) if node is not select and not isinstance(node, exp.Table)]


def _refused(source: Source, emit: Token, why: str) -> UnsupportedQueryError:
    msg = f"{why}. {_ALLOWED}. {_READ_IT}"
    return source.unsupported("EMIT FINAL", msg, emit.start)
