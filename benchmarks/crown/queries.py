"""The queries of CROWN, appendix D, as values from which the text for each system is made.

The paper's results are sets: its join-project queries are ``SELECT DISTINCT``. A filter keeps one in ten of the
designated end points.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from benchmarks.crown.job import Atom, Shape

G, V1, V2 = "G", "V1", "V2"
EDGES = {"src": "BIGINT", "dst": "BIGINT"}
VERTICES = {"v": "BIGINT"}
GRAPH_TABLES = {G: EDGES, V1: VERTICES, V2: VERTICES}
SNB_TABLES = {
    "person": {"p_personid": "BIGINT", "p_firstname": "VARCHAR", "p_lastname": "VARCHAR"},
    "message": {"m_messageid": "BIGINT", "m_creatorid": "BIGINT", "m_c_replyof": "BIGINT"},
    "message_tag": {"mt_messageid": "BIGINT", "mt_tagid": "BIGINT"},
    "tag": {"t_tagid": "BIGINT", "t_name": "VARCHAR"},
    "knows": {"k_person1id": "BIGINT", "k_person2id": "BIGINT"},
}
PATH_TABLES = {
    "R1": {"a": "BIGINT", "b": "BIGINT"},
    "R2": {"b": "BIGINT", "i": "BIGINT", "c": "BIGINT"},
    "R3": {"c": "BIGINT", "d": "BIGINT"},
}
KNOWN = GRAPH_TABLES | SNB_TABLES | PATH_TABLES
KEEP = 10


@dataclass(frozen=True)
class CrownQuery:
    """A query.

    Args:
        name: What the paper calls it.
        shape: Its parts.
        plain: The same result as DuckDB computes it in reasonable time, its filters included; empty: as it is.
        most: Changes of a graph's stream that it is given at most, because its result grows beyond all measure.
    """

    name: str
    shape: Shape
    plain: str = ""
    most: int | None = None

    @property
    def tables(self) -> dict[str, dict[str, str]]:
        """The columns of the tables that it uses."""
        return {name: KNOWN[name] for name in dict.fromkeys(atom.table for atom in self.shape.atoms)}

    @property
    def outputs(self) -> dict[str, str]:
        """The columns of its result."""
        types = {v: KNOWN[atom.table][column] for atom in self.shape.atoms for column, v in atom.columns.items()}
        return {v: types[v] for v in self.shape.output} | ({"n": "BIGINT"} if self.shape.counted else {})

    @property
    def sql(self) -> str:
        """The text for systems with SQL."""
        return _text(self.shape)

    @property
    def own_sql(self) -> str:
        """The text for livejoin, which does not compare columns of two tables but for equality.

        Such a condition is put on groups: of results that are a set anyway, each is a group of its own.
        """
        if self.shape.different is None:
            return self.sql
        groups = replace(self.shape, different=None)
        one, two = self.shape.different
        names = {v: _reference(self.shape.atoms, v) for v in self.shape.output}
        return f"{_text(groups)} GROUP BY {', '.join(names.values())} HAVING {names[one]} <> {names[two]}"

    @property
    def orders(self) -> tuple[CrownQuery, ...]:
        """The same with its relations in the orders that are tried for systems that join them as they are written.

        As it is written, from its filters on, and from its last relation on.
        """
        atoms = self.shape.atoms
        filtered = sorted(atoms, key=lambda atom: (atom.keep is None, atom.null is None))
        found = {tuple(a.alias for a in one): one for one in (atoms, _connected(filtered), _connected(atoms[::-1]))}
        return tuple(replace(self, shape=replace(self.shape, atoms=one)) for one in found.values())

    def keeping(self, modulus: int) -> CrownQuery:
        """The same with another filter."""
        atoms = [replace(a, keep=(a.keep[0], modulus, 0)) if a.keep else a for a in self.shape.atoms]
        return replace(self, shape=replace(self.shape, atoms=tuple(atoms)), plain="")


def _connected(wished: Sequence[Atom]) -> tuple[Atom, ...]:
    """Relations in the order that is wished, as far as each shares a variable with those before it."""
    left, known = list(wished[1:]), set(wished[0].columns.values())
    found = [wished[0]]
    while left:
        found.append(next(atom for atom in left if known & set(atom.columns.values())))
        left.remove(found[-1])
        known |= set(found[-1].columns.values())
    return tuple(found)


def _reference(atoms: Iterable[Atom], variable: str) -> str:
    """The first column of a variable."""
    return next(f"{a.alias}.{c}" for a in atoms for c, v in a.columns.items() if v == variable)


def _text(shape: Shape) -> str:
    parts: list[str] = []
    conditions: list[str] = []
    known: dict[str, str] = {}
    for atom in shape.atoms:
        equal = []
        for column, variable in atom.columns.items():
            here = f"{atom.alias}.{column}"
            if variable in known:
                equal.append(f"{known[variable]} = {here}")
            known.setdefault(variable, here)
        if atom.keep is not None:
            column, modulus, rest = atom.keep
            conditions.append(f"{atom.alias}.{column} % {modulus} = {rest}")
        if atom.null is not None:
            conditions.append(f"{atom.alias}.{atom.null} IS NULL")
        named = f"{atom.table} {atom.alias}"
        parts.append(f"JOIN {named} ON {' AND '.join(equal)}" if parts else f"FROM {named}")
    if shape.different is not None:
        conditions.append(f"{known[shape.different[0]]} <> {known[shape.different[1]]}")
    columns = [f"{known[v]} AS {v}" for v in shape.output]
    if shape.counted:
        columns.append(f"COUNT({'*' if shape.counted == '*' else f'DISTINCT {known[shape.counted]}'}) AS n")
    text = f"SELECT {'DISTINCT ' if shape.distinct else ''}{', '.join(columns)} {' '.join(parts)}"
    text += f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return text + (f" GROUP BY {', '.join(known[v] for v in shape.output)}" if shape.counted else "")


def edge(alias: str, source: str, target: str, keep: str = "") -> Atom:
    """The edges as a relation over two variables; ``keep`` names the end point that the filter is on."""
    return Atom(alias, G, {"src": source, "dst": target}, (keep, KEEP, 0) if keep else None)


def _path(length: int, keep: bool) -> tuple[Atom, ...]:
    ends = "ABCDE"
    return tuple(
        edge(f"G{i + 1}", ends[i], ends[i + 1], "dst" if keep and i == length - 1 else "") for i in range(length)
    )


def _vertices(alias: str, variable: str) -> Atom:
    return Atom(alias, alias, {"v": variable})


_TRIANGLES = (edge("G1", "P", "Q"), edge("G2", "Q", "B"), edge("G3", "B", "P"))
_DUMBBELL = (*_TRIANGLES, edge("G4", "B", "C", "dst"), edge("G5", "C", "S"), edge("G6", "S", "T"), edge("G7", "T", "C"))
_CORNERS = (
    "WITH t AS (SELECT x.src AS p, x.dst AS q, y.dst AS b FROM G x JOIN G y ON x.dst = y.src "
    "JOIN G z ON y.dst = z.src AND z.dst = x.src)"
)

GRAPH_QUERIES = (
    CrownQuery("3-Hop", Shape(_path(3, True), tuple("ABCD"))),
    CrownQuery("4-Hop", Shape(_path(4, True), tuple("ABCDE")), most=60_000),
    CrownQuery(
        "3-Hop projected",
        Shape(_path(3, False), tuple("BC"), distinct=True),
        "SELECT DISTINCT src AS B, dst AS C FROM G WHERE src IN (SELECT dst FROM G) AND dst IN (SELECT src FROM G)",
    ),
    CrownQuery(
        "4-Hop projected",
        Shape(_path(4, True), tuple("BCD"), distinct=True),
        "SELECT DISTINCT x.src AS B, y.src AS C, y.dst AS D FROM G x JOIN G y ON x.dst = y.src "
        f"WHERE x.src IN (SELECT dst FROM G) AND y.dst IN (SELECT src FROM G WHERE dst % {KEEP} = 0)",
    ),
    CrownQuery("2-Comb", Shape((_vertices(V1, "A"), *_path(3, False), _vertices(V2, "D")), tuple("ABCD"))),
    CrownQuery(
        "star count",
        Shape(tuple(edge(f"G{i}", "A", "BCDE"[i - 1]) for i in range(1, 5)), ("A",), counted="*"),
        "SELECT src AS A, (count(*) * count(*) * count(*) * count(*))::BIGINT AS n FROM G GROUP BY src",
    ),
    CrownQuery(
        "dumbbell",
        Shape(_DUMBBELL, tuple("PQBCST")),
        f"{_CORNERS} SELECT l.p AS P, l.q AS Q, l.b AS B, e.dst AS C, r.p AS S, r.q AS T FROM t l "
        f"JOIN G e ON l.b = e.src JOIN t r ON e.dst = r.b WHERE e.dst % {KEEP} = 0",
        most=30_000,
    ),
    CrownQuery(
        "dumbbell projected",
        Shape(_DUMBBELL, tuple("BC"), distinct=True),
        f"{_CORNERS} SELECT DISTINCT src AS B, dst AS C FROM G WHERE src IN (SELECT b FROM t) "
        f"AND dst IN (SELECT b FROM t) AND dst % {KEEP} = 0",
        most=60_000,
    ),
)

_POST = Atom("m", "message", {"m_messageid": "M", "m_creatorid": "C"}, null="m_c_replyof")
_TAGGED = Atom("mt", "message_tag", {"mt_messageid": "M", "mt_tagid": "T"})
_TAG = Atom("t", "tag", {"t_tagid": "T"})
_FRIENDS = (
    Atom("k1", "knows", {"k_person1id": "A", "k_person2id": "B"}, ("k_person1id", KEEP, 0)),
    Atom("k2", "knows", {"k_person1id": "B", "k_person2id": "C"}),
)
_TAGS_OF_FRIENDS = Shape((*_FRIENDS, _POST, _TAGGED, _TAG), tuple("ABCTM"))

SNB_QUERIES = (
    CrownQuery(
        "SNB Q1",
        Shape(
            (
                Atom("p", "person", {"p_personid": "P", "p_firstname": "F", "p_lastname": "L"}),
                Atom("m", "message", {"m_messageid": "M", "m_creatorid": "P"}),
                Atom("k", "knows", {"k_person1id": "K", "k_person2id": "P"}),
            ),
            tuple("PFLMK"),
        ),
    ),
    CrownQuery("SNB Q2", _TAGS_OF_FRIENDS),
    CrownQuery("SNB Q3", replace(_TAGS_OF_FRIENDS, different=("A", "C"))),
    CrownQuery(
        "SNB Q4",
        Shape(
            (
                Atom("k", "knows", {"k_person1id": "A", "k_person2id": "C"}, ("k_person1id", KEEP, 0)),
                _POST,
                _TAGGED,
                Atom("t", "tag", {"t_tagid": "T", "t_name": "L"}),
            ),
            tuple("LT"),
            counted="M",
        ),
    ),
)
