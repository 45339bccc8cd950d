"""Explanations written by hand, with something in every field, for what shows them."""

from __future__ import annotations

from dataclasses import replace

from livejoin.families.family import SearchOutline
from livejoin.families.outline import AtomOutline, BagOutline, EdgeOutline, NodeOutline, PlanOutline, StaticOutline
from livejoin.plan.explain.diagram.diagram import Diagram, DiagramLink, DiagramNode
from livejoin.plan.explain.effects.amount import Amount, Growth
from livejoin.plan.explain.effects.effect import Effect, Way
from livejoin.plan.explain.effects.reach import Hop, Reach
from livejoin.plan.explain.explanation import (
    Alternative,
    Explanation,
    LogOutline,
    Property,
    QueryClass,
    Suggestion,
    TableOutline,
)
from livejoin.search.guarantee import Guarantee, UpdateBound

ALWAYS = Guarantee(
    UpdateBound.ALWAYS, "O(1) a change, always", "constant delay", "O(|D|)", "O(|D|)", "CROWN, Lemma 6.8"
)
FIFO = Guarantee(
    UpdateBound.FIFO,
    "O(1) a change while rows leave in the order in which they came, or never leave; else O(lambda)",
    "constant delay a row, full and delta",
    "linear in the base rows",
    "linear in the base rows",
    "CROWN, Lemmas 6.9 and 6.10",
)


def node(label: str, variables: str, key: str, *, connex: bool = True, predicate: str | None = None) -> NodeOutline:
    """A node; its label tells whether it is an atom."""
    atoms = () if label.startswith("[") else (label.rsplit(maxsplit=1)[-1],)
    views = ("V_s",) if not key else ("V_s", "V_p")
    return NodeOutline(label, tuple(variables), atoms, tuple(key), connex, views, (), predicate, 1)


PATH = PlanOutline(
    "join tree",
    "join tree of height 2, change propagation without joins (CROWN)",
    (
        node("[b]", "b", ""),
        replace(node("G A", "ab", "b"), indexes=("by (b), for [b]",)),
        replace(node("G B", "bc", "b"), views=("V_s", "V_p", "V_l"), changes=0.5),
        node("G C", "cd", "c", connex=False, predicate='"d" % 10 = 0 AND "c" < \'<b>&\x00\''),
    ),
    (EdgeOutline(0, 1, ("b",), False), EdgeOutline(0, 2, ("b",), False), EdgeOutline(2, 3, ("c",), False)),
    2,
)

SNOWFLAKE = PlanOutline(
    "foreign keys",
    "foreign-key graph of height 3",
    (node("sales", "abc", ""), node("shop", "ad", "a"), node("town", "dx", "d"), node("client", "bd", "b")),
    (
        EdgeOutline(0, 1, ("a",), False),
        EdgeOutline(1, 2, ("d",), False),
        EdgeOutline(0, 3, ("b",), False),
        EdgeOutline(3, 2, ("d",), False),
    ),
    3,
)

STATIC = StaticOutline(
    "C_poly",
    "a{A, b{B, C}}",
    "3/2",
    (
        BagOutline("static bag {B, C}", 2000.0),
        BagOutline("static bag {D}", 10.0, 7),
        BagOutline("static bag {E}", None),
    ),
    5000,
)
EXAMPLE = Explanation(
    sql="\n    SELECT A.src\n      FROM G A, G B, G C\n     WHERE A.dst = B.src AND C.src < '<script>'\n",
    atoms=tuple(AtomOutline(alias, "G", ("x", "y"), None) for alias in "ABC"),
    output=("a", "b", "c"),
    query_class=QueryClass(
        "free-connex",
        (
            Property("acyclic", True, "the GYO reduction removes all atoms", (), ()),
            Property(
                "q-hierarchical", False, "b and c: A has only b, C has only c, B has both", ("A", "B"), ("b", "c")
            ),
        ),
    ),
    plan=PATH,
    guarantee=FIFO,
    executable=True,
    obstacle="",
    reason="No tree has height 1, and this one has the least sum of depth times changes.",
    alternatives=(
        Alternative("join tree of height 2", "[b]{A, B{C}}", FIFO, 4.0, 2, 1.5, 5.0, True, "", True),
        Alternative("join tree of height 3", "A{B{C}}", FIFO, 6.0, 3, 2.0, 6.0, False, "too long", False),
    ),
    search=SearchOutline(12, 345, True, "12 trees, all that there are"),
    suggestions=(
        Suggestion("primary key", "Declare a primary key of G.", "PRIMARY KEY (src)", ALWAYS, False),
        Suggestion("shape", "Leave C out.", "", ALWAYS, True),
    ),
    tables=(TableOutline("G", ("src", "dst"), ("A", "B", "C"), 72, 40.4, 1.0, "given", 1500.0, "observed"),),
    deltas=True,
    digest="abc",
    log=LogOutline(1000, 600, "mixed", 2.5, 9, 1.25, 4),
)

MANY = Amount(8.0, 500.0, causes=("rows of G per src",), growth=Growth.KEY)
HOP = Hop("B", "G", ("src",), ("dst",), ("A",), MANY, False, source="counted")
EFFECTS = (
    Effect(
        "G",
        "",
        MANY,
        Amount(1.0, 1.0, True),
        Amount(2.0, 2.0),
        Amount(2.0, 2.0, True),
        (Way("A", Reach((HOP,), MANY, MANY)),),
        ("A.x < B.y",),
        ("counted",),
    ),
    Effect("H", "static", Amount(0.0, 0.0), Amount(0.0, 0.0)),
)
DIAGRAM = Diagram(
    (
        DiagramNode("result", "result", ("src",), None),
        DiagramNode("table", "G A", ("src, dst",), 0, (), "a change here meets about 8 rows", Growth.KEY),
        DiagramNode("table", "G B", ("src, dst",), 1, ("A.dst = B.src", "each A meets 8 B on average")),
        DiagramNode("nested query", "a nested query", (), 1, ("A.src = what a sub-query gives",)),
    ),
    (DiagramLink(2, 3, ("B.dst = what a sub-query gives",)),),
)
