"""What to write instead of a word of another dialect, or of a misspelled keyword: hints for messages alone."""

from __future__ import annotations

from collections.abc import Mapping

from livejoin.shown import meant

KEYWORDS = (
    *("SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "OFFSET", "JOIN", "LEFT", "RIGHT", "INNER"),
    *("OUTER", "CROSS", "UNION", "EXCEPT", "INTERSECT", "BETWEEN", "VALUES", "INTO", "SET", "EXISTS", "QUALIFY"),
)
"""Words that a misspelled one may have been."""
HALVES: Mapping[str, str] = {
    "GROUP": "GROUP lacks BY; write GROUP BY column, ...",
    "ORDER": "ORDER lacks BY; write ORDER BY column, ...",
    "PARTITION": "PARTITION lacks BY; write PARTITION BY column, ...",
    "TOP": "TOP is not supported; write ORDER BY column LIMIT number at the end of the query",
    "IF": "IF lacks EXISTS; write IF EXISTS or IF NOT EXISTS",
    "REPLACE": "REPLACE begins no statement; MERGE INTO replaces rows by key, and so does an 'upsert' given to apply",
}
"""Words behind which another one is missing, or that stand for a clause of another form."""
UNEXPECTED: Mapping[str, str] = {
    "MATCH_CONDITION": "write it in parentheses, between the right table and ON: "
    "t ASOF JOIN q MATCH_CONDITION (t.ts >= q.ts) ON t.k = q.k",
    "RETURNING": "the commit that a statement gives has what changed in each view, and rows have the ids that you give",
    "[": "a name that needs quotes stands in backticks: `name`",
} | dict.fromkeys(
    ("ASOF", "LEFT ASOF", "NATURAL ASOF", "AS OF", "OF JOIN"),
    "write t ASOF JOIN q, or t ASOF LEFT JOIN q, with ON or USING",
)
"""What to write where one word, or two, stand in the wrong place."""
SECOND_MATCH = (
    "MATCH_CONDITION has one comparison; the equalities stand behind ON: "
    "t ASOF JOIN q MATCH_CONDITION (t.ts >= q.ts) ON t.k = q.k"
)
"""What to write where AND follows the comparison of MATCH_CONDITION."""
TIME_PARTS: Mapping[str, str] = {
    "epoch": "write unix_timestamp(ts) for whole seconds, or unix_micros(ts)",
    "millisecond": "write EXTRACT(SECOND FROM ts), which has the fraction",
    "milliseconds": "write EXTRACT(SECOND FROM ts), which has the fraction",
    "isodow": "write EXTRACT(DOW_ISO FROM ts)",
    "isoyear": "write EXTRACT(YEAROFWEEK FROM ts)",
}
"""Parts of a time that other dialects extract."""
QUALIFIERS: Mapping[str, str] = {
    "window": "write GROUP BY window(ts, '10 minutes') in the same SELECT",
    "session_window": "write GROUP BY session_window(ts, '30 minutes') in the same SELECT",
    "excluded": "write MERGE INTO, whose source has a name",
    "inserted": "the commit that a statement gives has what changed in each view",
    "deleted": "the commit that a statement gives has what changed in each view",
}
"""Names in front of columns that other dialects have without a table of that name."""
_IDENTITY = "ids are given by who inserts; write BIGINT PRIMARY KEY, and give the ids"
CONSTRAINTS: Mapping[str, str] = {
    "AutoIncrementColumnConstraint": _IDENTITY,
    "GeneratedAsIdentityColumnConstraint": _IDENTITY,
    "CollateColumnConstraint": "texts are compared by their bytes; leave it out",
    "CommentColumnConstraint": "write the comment behind --",
    "OnUpdateColumnConstraint": "the time of a call is not part of the data: give it with each row",
}
"""Constraints of a column that livejoin does not have, by sqlglot's classes."""
OPERATORS: Mapping[str, str] = {
    "~": "write value RLIKE 'pattern' for a regular expression",
    "!~": "write NOT value RLIKE 'pattern' for a regular expression",
}
FUNCTIONS: Mapping[str, str] = {
    "exist": "write EXISTS (SELECT ...)",
    "top": "write ORDER BY column LIMIT number at the end of the query",
    "window": "write it in SELECT or GROUP BY, as window(ts, '10 minutes'), and read window.start and window.end",
    "session_window": "write GROUP BY session_window(ts, '30 minutes'), and read session_window.start",
    "window_time": "write window.end - INTERVAL '1' MICROSECOND",
    **dict.fromkeys(("tumble", "tumble_start", "tumble_end"), "write window(ts, '10 minutes') and window.start"),
    **dict.fromkeys(("hop", "hop_start", "hop_end"), "write window(ts, '10 minutes', '5 minutes') and window.start"),
    **dict.fromkeys(("session", "session_start", "session_end"), "write session_window(ts, '30 minutes')"),
    "getdate": "the time of a call is not part of the data: keep it in a column",
    "sysdate": "the time of a call is not part of the data: keep it in a column",
    "convert": "write CAST(value AS type), or TRY_CAST for NULL where it is none",
    "to_number": "write CAST(value AS DECIMAL(10, 2)), or TRY_CAST for NULL where it is none",
    "safe_cast": "write TRY_CAST(value AS type)",
    "charindex": "write LOCATE(part, text)",
    "instr": "write LOCATE(part, text)",
    "->": "keep what is read of the document in a column",
    "->>": "keep what is read of the document in a column",
    "get_json_object": "keep what is read of the document in a column",
}
"""Functions that livejoin does not have, by their names in lower case."""
TYPES: Mapping[str, str] = {
    "serial": "write BIGINT, and give the ids",
    "bigserial": "write BIGINT, and give the ids",
    "json": "write STRING, or STRUCT<...> where the fields are known",
    "jsonb": "write STRING, or STRUCT<...> where the fields are known",
    "money": "write DECIMAL(18, 2)",
    "uniqueidentifier": "write UUID",
    "bit": "write BOOLEAN",
    "time": "write STRING, or TIMESTAMP with the day",
}
_TYPES: tuple[str, ...] = (
    "BOOLEAN",
    "TINYINT",
    "SMALLINT",
    "INT",
    "INTEGER",
    "BIGINT",
    "FLOAT",
    "DOUBLE",
    "DECIMAL",
    "DATE",
)
_TYPES += ("TIMESTAMP", "STRING", "VARCHAR", "CHAR", "UUID", "BINARY", "ARRAY", "STRUCT", "MAP", "VARIANT")
_STATEMENTS: Mapping[str, str] = {
    "TRUNCATE": "write DELETE FROM table",
    "UPSERT": "MERGE INTO does it, and so do changes of the kind 'upsert' given to apply",
    "CREATE INDEX": "keys and joins are looked up without one",
    "CREATE FUNCTION": "write the expression out in each query",
    "CREATE SCHEMA": "a database is a folder: open another one",
    "CREATE DATABASE": "a database is a folder: open another one",
    "EXPLAIN": (
        "db.sql('EXPLAIN ...') (/v1/query of a server) gives the explanation as rows. db.explain(sql) and "
        "view.explain(analyze=True) give it as an object, livejoin explain in a terminal"
    ),
    "SHOW": "db.tables and db.views have the names",
    "DESCRIBE": "db.tables[name] and db.views[name].schema have the columns",
    "VALUE": "write VALUES",
    "REFRESH MATERIALIZED VIEW": "a view is what its query gives after each commit, so there is nothing to refresh",
    "USE": "a database is a folder: open another one",
    "SET": "options are arguments of livejoin.open, or of livejoin.Database",
    "GRANT": "tokens of a server say who may do what (livejoin docs server)",
    "REVOKE": "tokens of a server say who may do what (livejoin docs server)",
    "VACUUM": "memory is given back by itself",
    "ANALYZE": "EXPLAIN ANALYZE name of a view, and view.explain(analyze=True), say what changes cost",
}


def of_statement(clause: str) -> str:
    """What to write in place of a statement, as the end of a sentence; empty if nothing is known.

    >>> of_statement("TRUNCATE"), of_statement("CREATE TABEL"), of_statement("DROP TABEL")
    ('; write DELETE FROM table', " (did you mean 'TABLE'?)", " (did you mean 'TABLE'?)")
    """
    if hint := _STATEMENTS.get(clause, _STATEMENTS.get(clause.partition(" ")[0])):
        return f"; {hint}"
    return meant(clause.partition(" ")[2], ("TABLE", "VIEW", "ASSERTION"))


def of_type(name: str) -> str:
    """What to write in place of a type, as a part of a sentence.

    >>> of_type("INTT"), of_type("serial")
    (" (did you mean 'INT'?)", '; write BIGINT, and give the ids')
    """
    hint = TYPES.get(name.lower())
    return f"; {hint}" if hint else meant(name, _TYPES)
