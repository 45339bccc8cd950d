"""Spark's keywords as names of columns, tables and aliases, against a recorded Spark (`record_keywords.py`)."""

from __future__ import annotations

import json

import pytest
from record_keywords import FORMS, PATH

from livejoin.catalog import Catalog
from livejoin.errors import LivejoinError
from livejoin.sql import bind_query, parse_columns, parse_statement
from strategies import IS_FUZZ

SPARK = json.loads(PATH.read_text())
CLAUSES = frozenset(
    {
        *("all", "and", "any", "as", "case", "cross", "current_date", "current_timestamp", "current_user", "distinct"),
        *("else", "except", "false", "fetch", "for", "from", "having", "in", "inner", "intersect", "into", "join"),
        *("lateral", "natural", "not", "null", "offset", "on", "or", "outer", "recursive", "select", "session_user"),
        *("then", "union", "using", "when", "where", "with"),
    }
)
"""What may be a keyword where Spark takes a name; all of them are reserved in ANSI SQL."""
BARE = frozenset({"between", "ilike", "is", "like", "limit", "lock", "minus", "qualify", "tablesample", "window"})
"""What is no alias without AS, because it may begin what stands behind the alias."""
ODD = {("operand", "interval"), ("common column", "true")}


def _catalog(word: str) -> Catalog:
    catalog = Catalog()
    catalog.add(parse_columns("kt", f"`{word}` INT, a INT"))
    catalog.add(parse_columns(word, "a INT"))
    return catalog


def test_the_words_that_stay_keywords_are_reserved_in_ansi_sql() -> None:
    assert set(SPARK["reserved"]) >= CLAUSES
    assert not BARE & CLAUSES


@pytest.mark.parametrize("form", FORMS)
def test_every_other_keyword_is_a_name_where_spark_takes_it(form: str) -> None:
    sql, types = FORMS[form]
    keywords = CLAUSES | set(SPARK["no_names"][form]) | (BARE if "without AS" in form else frozenset())
    step = 1 if IS_FUZZ else 12
    for word in SPARK["words"][sorted(FORMS).index(form) % step :: step]:
        if word in keywords or (form, word) in ODD:
            continue
        found = bind_query(sql.format(w=word), _catalog(word)).schema
        expected = [part.partition(":")[0] for part in types.format(w=word).split(",")]
        assert [name.lower() for name in found.names] == expected, sql.format(w=word)


@pytest.mark.parametrize("form", [form for form in FORMS if form != "common column"])
def test_in_backticks_every_word_is_a_name(form: str) -> None:
    sql, _ = FORMS[form]
    for word in (*CLAUSES, *BARE, "current_path"):
        bind_query(sql.format(w=f"`{word}`"), _catalog(word))


def test_columns_are_declared_by_every_keyword_and_tables_by_every_other_one() -> None:
    for word in SPARK["words"]:
        (_, column) = parse_columns("kz", f"a INT, {word} INT NOT NULL").columns
        assert (column.name, column.nullable) == (word, False)
        if word not in CLAUSES | {"true", "constraint", "unique"}:
            parse_statement(f"CREATE TABLE {word} (a INT)")


def test_constraints_are_no_columns() -> None:
    declared = "a INT, b INT, unique (a), constraint c unique (b), primary key (a, b)"
    assert [column.name for column in parse_columns("kz", declared).columns] == ["a", "b"]
    named = parse_columns("kz", "constraint INT, unique INT, check INT, a INT, constraint int primary key (a)")
    assert [column.name for column in named.columns] == ["constraint", "unique", "check", "a"]
    assert named.primary_key == (3,)


@pytest.mark.parametrize("word", ["for", "cross", "outer", "union"])
def test_a_keyword_in_the_place_of_a_name_is_told_its_backticks(word: str) -> None:
    with pytest.raises(LivejoinError, match=f"`{word}`"):
        bind_query(f"SELECT a FROM kt WHERE a > (1 + {word})", _catalog(word))
