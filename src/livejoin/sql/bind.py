"""Bind a SELECT to a conjunctive query.

The steps, each in its own file: parse, refuse clauses outside, bind FROM, split conditions into classes of equal
columns and predicates of atoms, bind the SELECT list, give each class a variable. Not all that binds is maintained:
see `maintained`.
"""

from __future__ import annotations

from sqlglot import TokenType

from livejoin.query.conjunctive import ConjunctiveQuery
from livejoin.schema import Catalog
from livejoin.sql.lower.conditions import split_conditions
from livejoin.sql.lower.variables import make_atoms
from livejoin.sql.names.from_clause import bind_from
from livejoin.sql.names.outputs import bind_outputs
from livejoin.sql.names.scope import resolve
from livejoin.sql.parse.parse import parse
from livejoin.sql.parse.refuse import the_select


def bind(sql: str, catalog: Catalog) -> ConjunctiveQuery:
    """The conjunctive query of a SELECT over the tables of a catalog.

    Cost: a few ms; each predicate and each expression is bound by DuckDB, over no rows.

    Raises:
        SqlSyntaxError: The text does not parse.
        UnknownNameError: A table, column or alias that does not exist or is ambiguous.
        SqlTypeError: An expression or a join whose types do not fit.
        UnsupportedQueryError: A clause outside of what livejoin reads.

    >>> from livejoin.sql import parse_columns
    >>> catalog = Catalog()
    >>> catalog.add(parse_columns("G", "src BIGINT, dst BIGINT"))
    >>> query = bind("SELECT A.src, B.dst FROM G A JOIN G B ON A.dst = B.src WHERE B.dst % 10 = 0", catalog)
    >>> [(atom.alias, atom.variables, atom.predicate) for atom in query.atoms]
    [('A', ('src', 'A.dst'), None), ('B', ('A.dst', 'B.dst'), '"dst" % 10 = 0')]
    """
    tree, source = parse(sql)
    select = the_select(tree, source)
    clause = bind_from(select, catalog, source)
    conditions, start = list(clause.conditions), source.find({TokenType.FROM})
    if where := select.args.get("where"):
        conditions.append(resolve(where.this, clause.scope, source))
        start = source.find({TokenType.WHERE})
    split = split_conditions(conditions, clause.equalities, clause.scope, source, start)
    head, outputs = bind_outputs(select, clause.scope, source)
    atoms = make_atoms(clause.scope, split.equal, split.predicates, head)
    return ConjunctiveQuery(sql, atoms, head, outputs)
