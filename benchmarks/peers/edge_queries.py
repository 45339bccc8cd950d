"""Edges of the join tree over the graph: paths of two edges whose second is joined, optional, demanded or forbidden.

The filter keeps some second edges, so that many first ones are not continued, and each change of an edge changes both
sides: it is a first edge of some paths and the second of others.
"""

from __future__ import annotations

from benchmarks.graph_queries import GraphQuery
from benchmarks.peers.job import EDGES

_ON = "G1.dst = G2.src AND G2.dst % {keep} = 0"
_PATH = "SELECT G1.src AS a, G1.dst AS b, G2.dst AS c FROM G G1"
_FIRST = "SELECT G1.src AS a, G1.dst AS b FROM G G1"
_TEXTS = (
    f"{_PATH} JOIN G G2 ON {_ON}",
    f"{_PATH} LEFT JOIN G G2 ON {_ON}",
    f"{_FIRST} WHERE EXISTS (SELECT 1 FROM G G2 WHERE {_ON})",
    f"{_FIRST} WHERE NOT EXISTS (SELECT 1 FROM G G2 WHERE {_ON})",
)
EDGE_QUERIES = tuple(GraphQuery(name, text) for name, text in zip(EDGES, _TEXTS, strict=True))
