"""Pure functions on queries: hypergraphs, join trees and what follows from their shape."""

from livejoin.theory.gyo import cycle, is_acyclic, reduce
from livejoin.theory.hypergraph import Hypergraph
from livejoin.theory.join_tree import JoinTree, Node, least_height_tree
from livejoin.theory.join_tree_laws import is_valid, violations

__all__ = [
    "Hypergraph",
    "JoinTree",
    "Node",
    "cycle",
    "is_acyclic",
    "is_valid",
    "least_height_tree",
    "reduce",
    "violations",
]
