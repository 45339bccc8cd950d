"""The graph queries of CROWN (appendix D) and queries of the other classes, over one table of edges ``G (src, dst)``.

The paper's results are sets, so its projections are ``SELECT DISTINCT`` here. ``{keep}`` stands for the modulus of the
filter that keeps some end points.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

TWO = "G G1 JOIN G G2 ON G1.dst = G2.src"
THREE = f"{TWO} JOIN G G3 ON G2.dst = G3.src"
FOUR = f"{THREE} JOIN G G4 ON G3.dst = G4.src"
TRIANGLE = f"{TWO} JOIN G G3 ON G2.dst = G3.src AND G3.dst = G1.src"
STAR = "G G1 JOIN G G2 ON G1.src = G2.src JOIN G G3 ON G1.src = G3.src JOIN G G4 ON G1.src = G4.src"

Size = Literal["full", "part"]


@dataclass(frozen=True)
class GraphQuery:
    """A query that is measured.

    Args:
        name: What it is called.
        sql: The query.
        plain: The same result by a query that DuckDB recomputes in reasonable time; empty if that is ``sql``.
        size: ``part`` if the result, or what must be kept of it, is too large for the whole stream.
        aim: Graph changes a second without enumeration that the project wants to reach.
        peer: How much of the stream standard change propagation is given.
    """

    name: str
    sql: str
    plain: str = ""
    size: Size = "full"
    aim: float | None = None
    peer: Size = "part"

    def text(self, modulus: int) -> str:
        """The query with its filter."""
        return self.sql.format(keep=modulus)

    def recomputed_as(self, modulus: int) -> str:
        """The text that DuckDB is given."""
        return (self.plain or self.sql).format(keep=modulus)


QUERIES = (
    GraphQuery(
        "3-Hop",
        f"SELECT G1.src AS a, G2.src AS b, G3.src AS c, G3.dst AS d FROM {THREE} WHERE G3.dst % {{keep}} = 0",
    ),
    GraphQuery("3-Hop COUNT(*)", f"SELECT COUNT(*) AS n FROM {THREE} WHERE G3.dst % {{keep}} = 0", aim=1.5e6),
    GraphQuery(
        "4-Hop projected",
        f"SELECT DISTINCT G2.src AS b, G3.src AS c, G3.dst AS d FROM {FOUR} WHERE G4.dst % {{keep}} = 0",
        "SELECT DISTINCT G2.src AS b, G3.src AS c, G3.dst AS d FROM G G2 JOIN G G3 ON G2.dst = G3.src "
        "WHERE G2.src IN (SELECT dst FROM G) AND G3.dst IN (SELECT src FROM G WHERE dst % {keep} = 0)",
        aim=1.5e6,
    ),
    GraphQuery(
        "star count",
        f"SELECT G1.src AS a, COUNT(*) AS n FROM {STAR} GROUP BY G1.src",
        "SELECT src AS a, (count(*) * count(*) * count(*) * count(*))::BIGINT AS n FROM G GROUP BY src",
        aim=3e6,
    ),
    GraphQuery("triangle count", f"SELECT COUNT(*) AS n FROM {TRIANGLE}", peer="full"),
    GraphQuery("triangles", f"SELECT G1.src AS a, G2.src AS b, G3.src AS c FROM {TRIANGLE}", peer="full"),
    GraphQuery(
        "3-Hop GROUP BY, free-connex",
        f"SELECT G2.src AS b, COUNT(*) AS n, SUM(G3.dst) AS s FROM {THREE} WHERE G3.dst % {{keep}} = 0 GROUP BY G2.src",
        f"SELECT G2.src AS b, count(*) AS n, sum(G3.dst)::BIGINT AS s FROM {THREE} WHERE G3.dst % {{keep}} = 0 "
        "GROUP BY G2.src",
    ),
    GraphQuery(
        "3-Hop GROUP BY, not free-connex",
        f"SELECT G1.src AS a, G3.dst AS d, COUNT(*) AS n FROM {THREE} WHERE G3.dst % {{keep}} = 0 "
        "GROUP BY G1.src, G3.dst",
        size="part",
    ),
    GraphQuery("2-Hop DISTINCT, not free-connex", f"SELECT DISTINCT G1.src AS a, G2.dst AS c FROM {TWO}", size="part"),
    GraphQuery(
        "top 100 of a GROUP BY",
        f"SELECT G1.src AS a, COUNT(*) AS n FROM {TWO} GROUP BY G1.src ORDER BY n DESC, a LIMIT 100",
    ),
)
