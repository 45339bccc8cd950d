"""Several ranks in one SELECT.

Ranks of one PARTITION BY and ORDER BY are stacked: the rows that a bound of one keeps are the first of each partition,
also if ties are kept together, and the ranks of the others within these are those within all,

    RANK, DENSE_RANK of the rows with ROW_NUMBER <= n  =  RANK, DENSE_RANK of all rows, for these.

Ranks of different ones are relations of their own over the same rows, which are joined on what tells a row from others:
a key, or all columns and the number of a copy among equal rows. Each may have a bound, as one alone may.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from livejoin.query.conjunctive import Output
from livejoin.query.keys import keys
from livejoin.query.relational import EVERY_RANK, Project, Ranked, RankFunction, Relation, SortKey


@dataclass(frozen=True)
class Rank:
    """A rank that a SELECT asks for.

    Args:
        function: Which one.
        partition: The columns of PARTITION BY.
        order: Those of ORDER BY.
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


def within(relation: Ranked, column: int, most: int) -> Relation | None:
    """A rank, or those below it which it follows, with a bound of one of them; None if the column is none of them."""
    line = [relation]
    while line[-1].follows and isinstance(line[-1].input, Ranked):
        line.append(line[-1].input)
    line.reverse()
    width = len(line[0].input.types)
    if column < width:
        return None
    chosen = column - width
    if line[0].limit < EVERY_RANK or chosen == 0:
        line[chosen] = _bounded(line[chosen], most)
        return _over(line[0].input, line)
    if line[chosen].partition != line[0].partition or line[chosen].keys != line[0].keys:
        return None
    # The one with a bound goes to the bottom, the others follow it, and their columns stand where they stood.
    moved = [chosen, *(place for place in range(len(line)) if place != chosen)]
    bottom = replace(line[chosen], limit=max(most, 0), follows=False)
    others = [replace(line[place], limit=EVERY_RANK, follows=True) for place in moved[1:]]
    ranked = _over(line[0].input, [bottom, *others])
    places = [*range(width), *(width + moved.index(place) for place in range(len(line)))]
    fields = zip(relation.schema, places, strict=True)
    return Project(ranked, tuple(Output(field.name, field.type, place) for field, place in fields), relation.types)


def _bounded(rank: Ranked, most: int) -> Ranked:
    return replace(rank, limit=max(min(rank.limit, most), 0))


def _over(rows: Relation, line: Sequence[Ranked]) -> Relation:
    """Some ranks, from the lowest one, over some rows."""
    found = rows
    for rank in line:
        found = replace(rank, input=found)
    return found
