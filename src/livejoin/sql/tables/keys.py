"""PRIMARY KEY, UNIQUE and FOREIGN KEY in a CREATE TABLE, after a column or as separate constraints.

The catalog checks that the referenced table exists and has such a key; a single statement cannot know that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import TokenType, exp

from livejoin.errors import SqlTypeError, UnknownNameError
from livejoin.schema import Column, ForeignKey
from livejoin.sql.parse.column_types import ALLOWED_TYPES
from livejoin.sql.parse.source import Source, offset_of, shown

ALLOWED = (
    "allowed are NOT NULL, DEFAULT, GENERATED ALWAYS AS (...), CHECK, PRIMARY KEY, UNIQUE and [FOREIGN KEY] REFERENCES"
)
_PROMISED = {"NOT ENFORCED", "RELY"}
_ENFORCED = "ENFORCED"


@dataclass(frozen=True)
class Keys:
    """The keys of a table: positions of the primary key's columns, empty for none, of UNIQUE, and the foreign keys."""

    primary: tuple[int, ...]
    unique: tuple[tuple[int, ...], ...]
    foreign: tuple[ForeignKey, ...]


def is_foreign(constraint: exp.Expr) -> bool:
    """Whether a column's constraint is ``[FOREIGN KEY] REFERENCES ...``."""
    return isinstance(constraint, (exp.ForeignKey, exp.Reference))


def is_unique(constraint: exp.Expr) -> bool:
    """Whether a constraint is UNIQUE, after a column or with its columns, without options."""
    more = ("index_type", "on_conflict", "nulls", "options")
    return isinstance(constraint, exp.UniqueColumnConstraint) and not any(constraint.args.get(name) for name in more)


def _named(key: exp.Expr) -> list[exp.Expr]:
    """The column names of a key that is a separate constraint."""
    if isinstance(key, exp.UniqueColumnConstraint):
        return key.this.expressions if isinstance(key.this, exp.Schema) else []
    return key.expressions


def declared_keys(parts: Sequence[exp.Expr], columns: Sequence[Column], source: Source) -> Keys:
    """The keys in the parts of a CREATE TABLE: column definitions and constraints of the table.

    Raises:
        SqlTypeError: A part is a column without a type.
        UnknownNameError: A key names an unknown column, a column twice, or a table with its database.
        UnsupportedQueryError: Another constraint, two primary keys, or an option that is not supported.
    """
    start = source.tokens[0].start
    primary: list[tuple[tuple[int, ...], int]] = []
    unique: list[tuple[int, ...]] = []
    foreign: list[ForeignKey] = []
    position = 0
    for part in parts:
        if isinstance(part, exp.ColumnDef):
            offset = offset_of(part, start)
            for constraint in _constraints(part):
                if isinstance(constraint, exp.PrimaryKeyColumnConstraint):
                    primary.append(((position,), offset))
                elif is_unique(constraint):
                    unique.append((position,))
                elif is_foreign(constraint):
                    foreign.append(_foreign_key((position,), constraint, source, offset))
            position += 1
        else:
            constraint, offset = _table_constraint(part, source, start)
            names = _positions(constraint, columns, source, offset)
            if isinstance(constraint, exp.PrimaryKey):
                primary.append((names, source.find_back({TokenType.PRIMARY_KEY}, offset + 1, offset)))
            elif is_unique(constraint):
                unique.append(names)
            else:
                foreign.append(_foreign_key(names, constraint, source, offset))
    if len(primary) > 1:
        msg = "PRIMARY KEY is declared twice; a key of several columns is written PRIMARY KEY (a, b)"
        raise source.unsupported("PRIMARY KEY", msg, primary[1][1])
    return Keys(primary[0][0] if primary else (), tuple(unique), tuple(foreign))


def _constraints(definition: exp.ColumnDef) -> Iterator[exp.Expr]:
    return (constraint.args["kind"] for constraint in definition.args.get("constraints") or ())


def _table_constraint(part: exp.Expr, source: Source, start: int) -> tuple[exp.Expr, int]:
    """A separate PRIMARY KEY, UNIQUE or FOREIGN KEY, and the offset of its first column."""
    offset = offset_of(part, start)
    if isinstance(part, exp.Identifier):
        msg = f"column {part.name!r} has no type; allowed are {ALLOWED_TYPES}"
        raise source.error(SqlTypeError, msg, offset)
    key = part.expressions[0] if isinstance(part, exp.Constraint) and len(part.expressions) == 1 else part
    if isinstance(key, exp.ForeignKey) or (isinstance(key, exp.PrimaryKey) and not key.args.get("options")):
        return key, offset_of(key, offset)
    if is_unique(key):
        return key, offset_of(key, source.find({TokenType.UNIQUE}, offset, offset))
    clause = shown(part)
    at = source.clause(clause, source.find_back({TokenType.COMMA}, offset, offset))
    raise source.unsupported(clause, f"{clause}: {ALLOWED}", at)


def _positions(key: exp.Expr, columns: Sequence[Column], source: Source, offset: int) -> tuple[int, ...]:
    """The positions of the columns that a key names."""
    kind = "PRIMARY KEY" if isinstance(key, exp.PrimaryKey) else "UNIQUE" if is_unique(key) else "FOREIGN KEY"
    if not _named(key):
        msg = f"{kind} names no column; write {kind} (column, ...)"
        raise source.unsupported(kind, msg, source.find_back({TokenType.FOREIGN_KEY}, offset, offset))
    positions: list[int] = []
    for name in _named(key):
        found = next((i for i, column in enumerate(columns) if column.name.lower() == name.name.lower()), None)
        at = offset_of(name, offset)
        if found is None:
            known = ", ".join(column.name for column in columns)
            msg = f"{kind} names {name.name!r}, which is no column; there are {known}"
            raise source.error(UnknownNameError, msg, at)
        if found in positions:
            msg = f"{kind} names {name.name!r} twice"
            raise source.error(UnknownNameError, msg, at)
        positions.append(found)
    return tuple(positions)


def _foreign_key(columns: tuple[int, ...], constraint: exp.Expr, source: Source, offset: int) -> ForeignKey:
    """The foreign key of some columns; ``offset`` is that of the first column."""
    reference = constraint if isinstance(constraint, exp.Reference) else constraint.args.get("reference")
    if not isinstance(reference, exp.Reference):
        at = source.find_back({TokenType.FOREIGN_KEY}, offset + 1, offset)
        msg = "FOREIGN KEY lacks what it references; write FOREIGN KEY (column, ...) REFERENCES table (column, ...)"
        raise source.unsupported("FOREIGN KEY", msg, at)
    begin = source.find({TokenType.REFERENCES}, offset, offset)
    named = reference.this
    table = named.this if isinstance(named, exp.Schema) else named
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        msg = "REFERENCES lacks the name of a table; write REFERENCES table (column, ...)"
        raise source.unsupported("REFERENCES", msg, begin)
    if len(table.parts) != 1:
        msg = f"{shown(table)}: a name with a database is not known here; allowed is a plain name"
        raise source.error(UnknownNameError, msg, offset_of(table, begin))
    names = named.expressions if isinstance(named, exp.Schema) else []
    odd = next((name for name in names if not isinstance(name, exp.Identifier)), None)
    if odd is not None:
        msg = (
            f"REFERENCES {table.name} names {shown(odd)}, which is no column name; write REFERENCES table (column, ...)"
        )
        raise source.unsupported("REFERENCES", msg, offset_of(odd, begin))
    behind = offset_of((names or [table])[-1], begin) + 1
    following = [token.token_type for token in source.tokens if token.start >= behind][:2]
    if len(names) not in (0, len(columns)) or (not names and following == [TokenType.L_PAREN, TokenType.R_PAREN]):
        msg = (
            f"REFERENCES {table.name} names {len(names)} columns for {len(columns)}; name one for each, "
            "or none without parentheses for the primary key"
        )
        raise source.unsupported("REFERENCES", msg, begin)
    options = reference.args.get("options") or ()
    option = next((option for option in options if option not in _PROMISED and option != _ENFORCED), None)
    if option is not None:
        msg = (
            f"{option} is not supported: a foreign key changes no row; allowed are ENFORCED, which refuses commits "
            "that break it, and NOT ENFORCED and RELY, which promise that none does"
        )
        raise source.unsupported(option, msg, source.clause(option, behind))
    return ForeignKey(columns, table.name, tuple(name.name for name in names), _ENFORCED in options)
