"""Declarations that do not come from SQL, and what a catalog checks of foreign keys."""

from __future__ import annotations

import pytest

from livejoin.catalog import Catalog
from livejoin.errors import SchemaError
from livejoin.schema import Column, ForeignKey, SqlType, Table
from livejoin.sql import parse_columns

BIGINT = SqlType.integer(64)
COLUMNS = (Column("a", BIGINT), Column("b", BIGINT))


def catalog(*tables: tuple[str, str]) -> Catalog:
    made = Catalog()
    for name, columns in tables:
        made.add(parse_columns(name, columns))
    return made


@pytest.mark.parametrize("columns", [(), (2,), (-1,), (0, 0)])
def test_a_foreign_key_has_columns_of_its_table(columns: tuple[int, ...]) -> None:
    with pytest.raises(SchemaError, match="distinct positions from 0 to 1, at least one"):
        Table("T", COLUMNS, foreign_keys=(ForeignKey(columns, "U"),))


def test_a_foreign_key_names_as_many_columns_as_it_has() -> None:
    with pytest.raises(SchemaError, match=r"FOREIGN KEY \(a\) REFERENCES U \(x, y\) has 1 columns that refer to 2"):
        Table("T", COLUMNS, foreign_keys=(ForeignKey((0,), "U", ("x", "y")),))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("a INT REFERENCES V(x)", "names a table that is not there; known tables: 'U', 'W', 'P'. Declare the ref"),
        ("a INT REFERENCES U(z)", "table 'U' has no column 'z'"),
        ("a INT REFERENCES U(y)", r"does not refer to the primary key of 'U'; allowed is REFERENCES \(x\)"),
        ("a INT, b INT, FOREIGN KEY (a, b) REFERENCES U(x, y)", "does not refer to the primary key"),
        ("a INT, b INT, FOREIGN KEY (a, b) REFERENCES U", "does not refer to the primary key"),
        ("a INT REFERENCES P(x)", r"allowed is REFERENCES \(y, x\)"),
        ("a INT, b STRING, FOREIGN KEY (a, b) REFERENCES P(x, x)", "does not refer to the primary key"),
        ("a INT REFERENCES W", "table 'W' has no primary key; declare one, or leave the foreign key out"),
        ("a STRING REFERENCES U", "a is STRING and x is BIGINT; give both the same type"),
        ("a INT, b STRING, FOREIGN KEY (a, b) REFERENCES P", "a is INT and y is STRING"),
        ("a INT PRIMARY KEY, b STRING REFERENCES T", "b is STRING and a is INT"),
    ],
)
def test_what_a_foreign_key_references_is_checked(columns: str, message: str) -> None:
    given = catalog(
        ("U", "x BIGINT PRIMARY KEY, y BIGINT"), ("W", "x INT"), ("P", "x INT, y STRING, PRIMARY KEY (y, x)")
    )
    with pytest.raises(SchemaError, match=message):
        given.add(parse_columns("T", columns))
    assert "T" not in given


@pytest.mark.parametrize(
    ("columns", "targets"),
    [
        ("a SMALLINT REFERENCES u", (0,)),
        ("a STRING, b INT, FOREIGN KEY (a, b) REFERENCES P", (1, 0)),
        ("a STRING, b INT, FOREIGN KEY (b, a) REFERENCES p (X, Y)", (0, 1)),
        ("a INT PRIMARY KEY, b INT REFERENCES t(A)", (0,)),
    ],
)
def test_references_that_stand(columns: str, targets: tuple[int, ...]) -> None:
    given = catalog(("U", "x BIGINT PRIMARY KEY, y BIGINT"), ("P", "x INT, y STRING, PRIMARY KEY (y, x)"))
    given.add(parse_columns("T", columns))
    (key,) = given["T"].foreign_keys
    assert key.targets(given[key.table]) == targets


def test_a_table_that_references_itself_only_is_forgotten() -> None:
    given = catalog(("T", "a INT PRIMARY KEY, b INT REFERENCES T"), ("U", "c INT REFERENCES T"))
    with pytest.raises(SchemaError, match="table 'T' is referenced by a foreign key of 'U'"):
        given.remove("t")
    given.remove("U")
    given.remove("t")
    assert len(given) == 0
