"""Several ranks in one SELECT.

Ranks of one PARTITION BY and ORDER BY are stacked: the rows that a bound of one keeps are the first of each partition,
also if ties are kept together, and the ranks of the others within these are those within all,

    RANK, DENSE_RANK of the rows with ROW_NUMBER <= n  =  RANK, DENSE_RANK of all rows, for these.

Ranks of different ones are relations of their own over the same rows, which are joined on what tells a row from others:
a key, or all columns and the number of a copy among equal rows. Each may have a bound, as one alone may.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from livejoin.query.keys import keys
from livejoin.query.orders import EVERY_RANK, RankFunction, SortKey
from livejoin.query.relational import Ranked, Relation


@dataclass(frozen=True)
class Rank:
    """A rank that a SELECT asks for.

    Args:
        function: The kind of rank.
        partition: The columns of PARTITION BY.
        order: The keys of ORDER BY.
    """

    function: RankFunction
    partition: tuple[int, ...]
    order: tuple[SortKey, ...]


@dataclass(frozen=True)
class Stack:
    """The ranks of one PARTITION BY and ORDER BY.

    Args:
        relation: The rows with the ranks behind their columns.
        ranks: Which ranks these are, by their positions among those that were asked for.
    """

    relation: Relation
    ranks: tuple[int, ...]


def stacks(rows: Relation, ranks: Sequence[Rank]) -> list[Stack]:
    """The ranks of some rows, those of one partition and order together."""
    found: dict[tuple[tuple[int, ...], tuple[SortKey, ...]], Stack] = {}
    for position, rank in enumerate(ranks):
        kind = (rank.partition, rank.order)
        below = found.get(kind, Stack(rows, ()))
        what = (rank.partition, rank.order, rank.function, EVERY_RANK)
        found[kind] = Stack(Ranked(below.relation, *what, follows=bool(below.ranks)), (*below.ranks, position))
    return list(found.values())


def told_apart(stack: Stack, width: int, rows: Relation) -> tuple[Relation, tuple[int, ...]]:
    """A stack with columns that tell a row from others, the same ones for all stacks over some rows.

    Args:
        stack: The stack.
        width: The number of the rows' columns.
        rows: The rows.

    Returns:
        The relation, and the positions of the columns.
    """
    known = keys(rows)
    if known:
        return stack.relation, tuple(sorted(known[0]))
    columns = tuple(range(width))
    copies = Ranked(stack.relation, columns, (), "row_number", EVERY_RANK, follows=True)
    return copies, (*columns, len(copies.types) - 1)
