"""Streams with a prescribed enclosureness, as in CROWN's figure 9, with the work that it stands for.

The query is 3-Hop over three tables. All rows of a table have the same join keys, so each short-lived row joins all
the long-lived ones; what tells the rows of the table in the middle apart is a further column.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from benchmarks.crown.job import SEQUENCE, SIGN, Atom, Shape
from benchmarks.crown.queries import CrownQuery
from benchmarks.crown.streams import ChangeStream
from livejoin.catalog import Catalog
from livejoin.families.crown.plan import CrownPlan
from livejoin.plan.operators import joins_of
from livejoin.plan.query_plan import plan_query
from livejoin.search.statistics import Statistics
from livejoin.sql import bind_query, parse_columns
from livejoin.theory.logs.change_sequences import enclosing_sequence_for
from livejoin.theory.logs.tree_enclosureness import tree_enclosureness
from livejoin.theory.trees.join_tree import JoinTree

PATH = CrownQuery(
    "3-Hop over three tables",
    Shape(
        (
            Atom("r1", "R1", {"a": "A", "b": "B"}),
            Atom("r2", "R2", {"b": "B", "i": "I", "c": "C"}),
            Atom("r3", "R3", {"c": "C", "d": "D"}),
        ),
        tuple("ABICD"),
    ),
)


@dataclass(frozen=True, eq=False)
class Enclosing:
    """A stream and its enclosureness with respect to the tree that the planner chooses.

    Args:
        stream: The stream.
        found: Its enclosureness, exactly.
        busy: A number of changes near the middle after which the result has rows.
    """

    stream: ChangeStream
    found: float
    busy: int


def enclosing_stream(tuples: int, wished: float) -> Enclosing:
    """A stream of so many tuples with a wished enclosureness."""
    tree = _tree()
    sequence = enclosing_sequence_for(tree, tuples, wished)
    tables = {}
    for number, (name, columns) in enumerate(PATH.tables.items()):
        places = np.flatnonzero(sequence.relation == number)
        rows = sequence.row[places]
        join = {"a": False, "b": True, "c": True, "d": False, "i": False}
        values = {column: 0 * rows if join[column] else rows for column in columns}
        tables[name] = pa.table({**values, SIGN: sequence.sign[places], SEQUENCE: places})
    found = tree_enclosureness(sequence.lifespans, tree).average
    living = [np.cumsum(np.where(sequence.relation == number, sequence.sign, 0)) for number in range(len(tables))]
    full = np.flatnonzero(np.prod(living, axis=0) > 0)
    busy = int(full[np.abs(full - len(sequence) // 2).argmin()]) + 1
    return Enclosing(ChangeStream(f"lambda {found:g}", tables, len(sequence)), found, busy)


def _tree() -> JoinTree:
    catalog = Catalog()
    for name, columns in PATH.tables.items():
        catalog.add(parse_columns(name, ", ".join(f"{column} {type_}" for column, type_ in columns.items())))
    (leaf,) = joins_of(plan_query(bind_query(PATH.own_sql, catalog), Statistics(), deltas=False))
    assert isinstance(leaf.physical, CrownPlan)
    return leaf.physical.tree
