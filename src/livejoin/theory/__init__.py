"""Pure functions on queries: hypergraphs, join trees and what follows from their shape."""

from livejoin.theory.free_connex import FreeConnex, FreePath, check_free_connex, free_path, is_free_connex
from livejoin.theory.gyo import cycle, is_acyclic, reduce
from livejoin.theory.hierarchical import Hierarchical, check_hierarchical, check_q_hierarchical
from livejoin.theory.hypergraph import Hypergraph
from livejoin.theory.join_tree import JoinTree, Node, TreeSearch, construct_tree, least_height_tree, search_tree
from livejoin.theory.join_tree_laws import is_valid, violations

__all__ = [
    "FreeConnex",
    "FreePath",
    "Hierarchical",
    "Hypergraph",
    "JoinTree",
    "Node",
    "TreeSearch",
    "check_free_connex",
    "check_hierarchical",
    "check_q_hierarchical",
    "construct_tree",
    "cycle",
    "free_path",
    "is_acyclic",
    "is_free_connex",
    "is_valid",
    "least_height_tree",
    "reduce",
    "search_tree",
    "violations",
]
