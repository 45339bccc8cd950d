"""The papers' words that explanations use, each in plain words; ``docs/glossary.md`` is made of these entries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from livejoin.search.guarantee import UpdateBound

if TYPE_CHECKING:
    from livejoin.plan.explain.explanation import Explanation

PLACE = "livejoin docs glossary"


@dataclass(frozen=True)
class Entry:
    """A word with what it means.

    Args:
        word: The word, as explanations write it.
        anchor: The name of its place in ``docs/glossary.md``.
        meaning: The explanation of the word, in plain sentences.
    """

    word: str
    anchor: str
    meaning: str


ENTRIES = (
    Entry(
        "q-hierarchical",
        "q-hierarchical",
        "An example is a star: all tables join on one hub column. Exactly: take any two columns that are joined on. "
        "The tables that have the one are all among those that have the other, or no table has both. A column that is "
        "returned stands above one that is not. Of queries without self-joins and keys, exactly these can be kept at "
        "constant time a change, under a common conjecture (Berkholz, Keppeler, Schweikardt, PODS 2017).",
    ),
    Entry(
        "free-connex",
        "free-connex",
        "The join has no cycle, and the columns that are returned hang together. On the way between two of them none "
        "is left out. Then the results can be listed one after the other without looking at rows in vain.",
    ),
    Entry(
        "acyclic",
        "acyclic",
        "The tables can be put into a tree so that each column's tables hang together in it. A path of joins is "
        "acyclic, a triangle is not.",
    ),
    Entry(
        "cyclic",
        "cyclic",
        "The joins go around in a circle, as in the triangle A.dst = B.src, B.dst = C.src, C.dst = A.src. Some tables "
        "must be joined before the rest can be put into a tree.",
    ),
    Entry(
        "width",
        "width",
        "How large the joins inside of bags can get. With width w a bag has at most N^w rows, where N is the number "
        "of rows of the tables. It is 1 without cycles and 3/2 for a triangle.",
    ),
    Entry(
        "O(1)",
        "constant",
        "Constant time: a change costs the same whatever the number of rows, on average over a sequence of changes.",
    ),
    Entry(
        "FIFO",
        "fifo",
        "First in, first out: rows leave in the order in which they came, over all tables together, as in one window.",
    ),
    Entry(
        "lambda",
        "lambda",
        "The enclosureness of the changes: how many rows come and go, one after the other, while another one stays, "
        "in the mean, at least 1. It is 1 where rows leave in the order in which they came, or never. It grows with "
        "rows that stay while many others pass (CROWN, section 6).",
    ),
    Entry(
        "O(|D|)",
        "linear",
        "Linear time: a change may reach as many rows as the tables have. Most changes reach far fewer.",
    ),
    Entry(
        "O(|D|^k), k > 1",
        "polynomial",
        "More than linear time: a change may add or remove more rows than the tables have, because they are combined.",
    ),
    Entry(
        "join tree",
        "join-tree",
        "The tables in a tree, each kept with counters of its partners below. A change goes up only as far as "
        "something appears or vanishes. No join is stored (CROWN).",
    ),
    Entry(
        "bags",
        "bags",
        "Groups of tables that are joined first, to make a tree of a cyclic query. The joins inside of them are "
        "stored.",
    ),
    Entry(
        "T-representation",
        "t-representation",
        "The tables in a tree, each row with the number of results below it, kept up to the root (Dynamic Yannakakis).",
    ),
    Entry(
        "chain of joins",
        "chain-of-joins",
        "One join after the other, with all intermediate results stored: the standard way to maintain a view.",
    ),
    Entry(
        "foreign keys",
        "foreign-keys",
        "Tables that refer to each other by primary keys, so that a row meets at most one row of each table below it "
        "(AJU).",
    ),
    Entry(
        "view trees",
        "view-trees",
        "Joins of the static tables that are made once, so that changes of the others look up one row (ICDT 2025).",
    ),
    Entry(
        "transition system",
        "transition-system",
        "The result as a function of a state: the set of those rows of the changing tables that static tables let "
        "matter. A change is a step to another state, which is looked up when it was made before (ICDT 2025).",
    ),
    Entry(
        "well-behaved",
        "well-behaved",
        "Of queries over static tables. No change of one table can reach many rows of another changing table, or many "
        "values that are returned, by way of other tables. Then each change can cost O(1), once the static tables "
        "are prepared (ICDT 2025). Exactly: a chain of joined columns may lead from one changing table to another one, "
        "or to what is returned. None of these leaves out all columns that both have.",
    ),
    Entry(
        "selected rows",
        "selected-rows",
        "The rows of one table, or of one nested query, that a condition is true for. There is no join: a row that "
        "changes goes straight to what is kept above, and is not kept a second time.",
    ),
    Entry(
        "connex subtree",
        "connex-subtree",
        "The upper part of a tree that has the columns that are returned; results are enumerated over it alone.",
    ),
)

_OF_BOUND = {
    UpdateBound.ALWAYS: ("O(1)",),
    UpdateBound.FIFO: ("O(1)", "FIFO", "lambda"),
    UpdateBound.LAMBDA: ("O(1)", "lambda"),
    UpdateBound.LINEAR: ("O(|D|)",),
    UpdateBound.POLYNOMIAL: ("O(|D|^k), k > 1",),
}


def words(explanation: Explanation) -> Iterator[Entry]:
    """The papers' words for the verdict, the class and the plan of an explanation."""
    used = [*_OF_BOUND[explanation.guarantee.bound], explanation.query_class.name]
    if explanation.query_class.width != "1":
        used.append("width")
    used.append(explanation.plan.kind)
    yield from (entry for word in used for entry in ENTRIES if entry.word == word)


def markdown() -> str:
    """The text of ``docs/glossary.md``."""
    parts = ["# Glossary", "The papers' words that `explain` uses, in plain words."]
    for entry in ENTRIES:
        parts += [f'## <a id="{entry.anchor}"></a>{entry.word}', entry.meaning]
    return "\n\n".join(parts) + "\n"
