"""What an explanation says as text."""

from __future__ import annotations

from dataclasses import replace
from textwrap import dedent, indent

import pytest
from explanations import EXAMPLE, PATH, SNOWFLAKE, STATIC

from livejoin.families.outline import AtomOutline, with_promises

pytestmark = pytest.mark.nojit

WHOLE = """\
verdict     A change takes constant time while rows leave in the order in which they came, or never
            leave; else it takes longer the more rows come and go while others stay.
            In the papers' words: O(1), FIFO, lambda, free-connex, join tree (livejoin docs
            glossary).

SELECT A.src
  FROM G A, G B, G C
 WHERE A.dst = B.src AND C.src < '<script>'

what would make it better
  - Declare a primary key of G.
    PRIMARY KEY (src)
    Then, beside the rows that it meets, a change takes constant time, whatever changes come (O(1));
    this version does not run that plan yet
  - Leave C out.
    Then, beside the rows that it meets, a change takes constant time, whatever changes come (O(1))

class       free-connex conjunctive query; 3 atoms
            yes acyclic         the GYO reduction removes all atoms
            no  q-hierarchical  b and c: A has only b, C has only c, B has both
plan        join tree of height 2, change propagation without joins (CROWN)
update      O(1) a change while rows leave in the order in which they came, or never leave; else
            O(lambda)
results     constant delay a row, full and delta
space       linear in the base rows
loading     linear in the base rows
proof       CROWN, Lemmas 6.9 and 6.10
why         No tree has height 1, and this one has the least sum of depth times changes.
search      12 trees, all that there are

join tree; ● is the connex subtree, over which results are enumerated
  ● [b]  V_s
  ├─ ● G A(a, b)  key (b)  V_s V_p
  │        indexes by (b), for [b]
  └─ ● G B(b, c)  key (b)  V_s V_p V_l
     │     50% of the changes
     └─   G C(c, d)  key (c)  V_s V_p
              where "d" % 10 = 0 AND "c" < '<b>&\ufffd'

state, predicted
  G (src, dst) for A, B, C: 112 bytes a base row (72 in its record, 40 in indexes); 1,500 rows
    (observed); relative rate of change 1 (given)

change log
  1,000 changes, 600 lifespans, mixed
  lambda    2.50 on average, 9 at most
  lambda_T  1.25 on average, 4 at most

plans compared
  * join tree of height 2: [b]{A, B{C}}; O(1) for FIFO or insertion-only sequences, else O(lambda);
    height 2, depth times changes 4; a change is expected to visit 1.5 rows, and to touch 5 records
    and keys
    join tree of height 3: A{B{C}}; O(1) for FIFO or insertion-only sequences, else O(lambda);
    height 3, depth times changes 6; a change is expected to visit 2 rows, and to touch 6 records
    and keys; not run: too long"""


def section(text: str, heading: str) -> str:
    """A section without its heading."""
    return next(part for part in text.split("\n\n") if part.startswith(heading)).partition("\n")[2]


def test_all_of_it() -> None:
    assert str(EXAMPLE) == WHOLE


def test_a_relation_with_several_parents_is_drawn_once() -> None:
    expected = """
        sales(a, b, c)  V_s
        ├─ shop(a, d)  key (a)  V_s V_p
        │  └─ town(d, x)  key (d)  V_s V_p
        └─ client(b, d)  key (b)  V_s V_p
           └─ town(d, x)  key (d)  shown under shop
    """
    text = str(replace(EXAMPLE, plan=SNOWFLAKE))
    assert section(text, "foreign keys; all of it is the connex") == indent(dedent(expected).strip(), "  ")


def test_several_trees_stand_below_one_another() -> None:
    first, second = PATH.nodes[:2]
    forest = replace(PATH, nodes=(first, replace(second, indexes=())), edges=())
    assert section(str(replace(EXAMPLE, plan=forest)), "join tree") == "  [b]  V_s\n  G A(a, b)  V_s V_p"


def test_a_refused_query_says_so() -> None:
    refused = replace(EXAMPLE, executable=False, obstacle="the join is cyclic", tables=(), log=None)
    text = str(refused)
    assert "refused     this version does not maintain the query: the join is cyclic" in text
    assert "state" not in text
    assert "change log" not in text
    assert "refused" not in str(EXAMPLE)


def test_a_view_without_deltas_says_so() -> None:
    assert "results     constant delay a row, full and delta; no deltas (deltas=False)" in str(
        replace(EXAMPLE, deltas=False)
    )


def test_nothing_to_suggest() -> None:
    text = str(replace(EXAMPLE, suggestions=()))
    assert section(text, "what would") == "  nothing was found that would give a better bound"


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_lines_fit(width: int) -> None:
    """Those of the text that is not the query's own, and that does not end in one long word."""
    lines = EXAMPLE.text(width).split("\n\n", 1)[1].splitlines()
    assert max(map(len, lines)) <= width
    assert " ".join(" ".join(lines).split()).replace("│ ", "") == " ".join(
        " ".join(str(EXAMPLE).split("\n\n", 1)[1].splitlines()).split()
    ).replace("│ ", "")


def test_a_terminal_is_safe_from_a_query() -> None:
    assert "\x1b" not in str(replace(EXAMPLE, sql="SELECT '\x1b[2J' FROM G", reason="\x1b]0;x\x07"))


def test_a_short_representation() -> None:
    assert repr(EXAMPLE).startswith("<Explanation: free-connex, O(1) for FIFO")
    assert "\n" not in repr(EXAMPLE)


def test_what_is_made_of_static_tables() -> None:
    atoms = [AtomOutline(alias, "G", (), None, static=alias == "B") for alias in "ABC"]
    told = replace(EXAMPLE, plan=with_promises(replace(PATH, static=STATIC), atoms))
    assert [line for line in map(str.strip, str(told).splitlines()) if "static" in line or "limit" in line] == [
        "static      class C_poly: joined once, by the variable order a{A, b{B, C}}, of width 3/2",
        "static bag {B, C}: about 2,000 rows expected",
        "static bag {D}: 7 rows (about 10 rows expected)",
        "static bag {E}: how many rows is not known before the tables have some",
        "refused beyond 5,000 rows (preprocessing_limit)",
        "└─ ● G B(b, c) static  key (b)  V_s V_p V_l",
    ]
    assert "refused beyond 5,000 rows" in told.html()
    linear = replace(EXAMPLE, plan=replace(PATH, static=replace(STATIC, tractability="C_lin", bags=(), limit=None)))
    assert "static      class C_lin: nothing is joined before changes come\n" in str(linear)
