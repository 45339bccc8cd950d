"""Pure functions on queries: hypergraphs, join trees and what follows from their shape.

A query is ``edges``, the variables of each atom, and ``free``, its output variables or None for all of them. An atom is
known by its position. What the searches are made of is not here but in their modules.

===========================  ===================================================================================
a query's class              `is_acyclic`, `check_free_connex`, `check_hierarchical`, `check_q_hierarchical`
generalized join trees       `construct_tree`, `least_height_tree`, `all_trees`; their laws: `violations`
trees with atoms as leaves   `dyn_tree`, `simple_tree`, `check_simple`, `check_compatible`; `dyn_violations`
cyclic queries               `decompose`; `fractional_edge_cover`, `agm_bound`; `decomposition_violations`
                             `cover_at_least_cost`, the linear program that both solve
rows to cells (HyperCube)    `integer_shares`, `divided`, `hot_product`
foreign keys                 `foreign_key_graph`, `foreign_key_acyclic`, `assertion_keys`, `auxiliary_attributes`
static and dynamic tables    `static_dynamic`, `well_behaved`, `linear_tree`, `static_bags`, `least_width_order`,
                             `rewrite`, `transition_system`; `order_violations`, `rewriting_violations`
change logs                  `lifespans`, `enclosureness`, `tree_enclosureness`, `first_in_first_out`, ...
change logs made to order    `enclosing_sequence`, `enclosing_sequence_for`
streams in bounded memory    `HeavyHitters`, `summed`
===========================  ===================================================================================

>>> edges = [frozenset("ab"), frozenset("bc"), frozenset("cd")]
>>> bool(check_q_hierarchical(edges)), bool(check_free_connex(edges))
(False, True)
>>> print(least_height_tree(edges))
[b]{0, 1{2}}
"""

from livejoin.theory.classes.free_connex import FreeConnex, FreePath, check_free_connex, free_path, is_free_connex
from livejoin.theory.classes.gyo import cycle, is_acyclic, reduce
from livejoin.theory.classes.hierarchical import Hierarchical, check_hierarchical, check_q_hierarchical
from livejoin.theory.classes.hypergraph import Hypergraph
from livejoin.theory.cyclic.decomposition import Bag, Decomposition, decompose
from livejoin.theory.cyclic.decomposition_laws import decomposition_violations
from livejoin.theory.cyclic.edge_cover import (
    FractionalCover,
    IntegralCover,
    SizeBound,
    agm_bound,
    fractional_edge_cover,
    integral_edge_cover,
)
from livejoin.theory.cyclic.simplex import cover_at_least_cost
from livejoin.theory.hypercube.frequencies import Frequencies, Skew
from livejoin.theory.hypercube.grid import Condition, Grid
from livejoin.theory.hypercube.residual import CellProblem, Division, divided, hot_product
from livejoin.theory.hypercube.shares import Shared, Spread, integer_shares
from livejoin.theory.keys.assertion_key import (
    AuxiliaryAttribute,
    AuxiliaryAttributes,
    Condition5,
    MissingPath,
    UnconstrainedPair,
    assertion_keys,
    auxiliary_attributes,
    condition_5,
    unconstrained_pairs,
)
from livejoin.theory.keys.digraph import Digraph
from livejoin.theory.keys.foreign_key import (
    ForeignKeyAcyclic,
    ForeignKeyGraph,
    Reference,
    UnkeyedJoin,
    foreign_key_acyclic,
    foreign_key_graph,
    foreign_key_graph_of,
    schema_graph,
)
from livejoin.theory.logs.change_sequences import ChangeSequence, enclosing_sequence, enclosing_sequence_for
from livejoin.theory.logs.enclosureness import Enclosureness, enclosureness
from livejoin.theory.logs.lifespans import AFTER, BEFORE, Lifespans, lifespans
from livejoin.theory.logs.sequence_class import (
    SequenceClass,
    deletion_only,
    first_in_first_out,
    first_in_last_out,
    insertion_only,
)
from livejoin.theory.logs.tree_enclosureness import crossing_enclosureness, has_inner_branch, tree_enclosureness
from livejoin.theory.static.least_width_order import LeastWidth, least_width_order
from livejoin.theory.static.linear_tree import linear_tree
from livejoin.theory.static.preprocessing_width import order_width
from livejoin.theory.static.safe_rewriting import enumeration_views, rewriting_violations
from livejoin.theory.static.static_bags import StaticBag, StaticBags, static_bags
from livejoin.theory.static.static_dynamic import StaticDynamic, Tractability, static_dynamic
from livejoin.theory.static.static_parts import construct_order
from livejoin.theory.static.transition_system import NoTransitionSystem, TransitionSystem, transition_system
from livejoin.theory.static.variable_order import (
    OrderNode,
    VariableOrder,
    dependencies,
    order_violations,
    variable_order,
)
from livejoin.theory.static.view_tree import Rewriting, View, rewrite
from livejoin.theory.static.well_behaved import UnsafePath, WellBehaved, well_behaved
from livejoin.theory.streams.heavy_hitters import HeavyHitters, summed
from livejoin.theory.trees.all_trees import TreeIterator, all_trees
from livejoin.theory.trees.branches import Hanging, shape_of, with_branches
from livejoin.theory.trees.dyn_tree_laws import dyn_violations, guards, width_one_violations
from livejoin.theory.trees.dyn_trees import Compatible, Simple, check_compatible, check_simple, dyn_tree, simple_tree
from livejoin.theory.trees.join_tree import (
    JoinTree,
    Node,
    TreeSearch,
    connex_subtree,
    construct_tree,
    least_height_tree,
    search_tree,
    to_join_tree,
)
from livejoin.theory.trees.join_tree_laws import is_valid, violations
from livejoin.theory.trees.shape import Shape

__all__ = [
    "AFTER",
    "BEFORE",
    "AuxiliaryAttribute",
    "AuxiliaryAttributes",
    "Bag",
    "CellProblem",
    "ChangeSequence",
    "Compatible",
    "Condition",
    "Condition5",
    "Decomposition",
    "Digraph",
    "Division",
    "Enclosureness",
    "ForeignKeyAcyclic",
    "ForeignKeyGraph",
    "FractionalCover",
    "FreeConnex",
    "FreePath",
    "Frequencies",
    "Grid",
    "Hanging",
    "HeavyHitters",
    "Hierarchical",
    "Hypergraph",
    "IntegralCover",
    "JoinTree",
    "LeastWidth",
    "Lifespans",
    "MissingPath",
    "NoTransitionSystem",
    "Node",
    "OrderNode",
    "Reference",
    "Rewriting",
    "SequenceClass",
    "Shape",
    "Shared",
    "Simple",
    "SizeBound",
    "Skew",
    "Spread",
    "StaticBag",
    "StaticBags",
    "StaticDynamic",
    "Tractability",
    "TransitionSystem",
    "TreeIterator",
    "TreeSearch",
    "UnconstrainedPair",
    "UnkeyedJoin",
    "UnsafePath",
    "VariableOrder",
    "View",
    "WellBehaved",
    "agm_bound",
    "all_trees",
    "assertion_keys",
    "auxiliary_attributes",
    "check_compatible",
    "check_free_connex",
    "check_hierarchical",
    "check_q_hierarchical",
    "check_simple",
    "condition_5",
    "connex_subtree",
    "construct_order",
    "construct_tree",
    "cover_at_least_cost",
    "crossing_enclosureness",
    "cycle",
    "decompose",
    "decomposition_violations",
    "deletion_only",
    "dependencies",
    "divided",
    "dyn_tree",
    "dyn_violations",
    "enclosing_sequence",
    "enclosing_sequence_for",
    "enclosureness",
    "enumeration_views",
    "first_in_first_out",
    "first_in_last_out",
    "foreign_key_acyclic",
    "foreign_key_graph",
    "foreign_key_graph_of",
    "fractional_edge_cover",
    "free_path",
    "guards",
    "has_inner_branch",
    "hot_product",
    "insertion_only",
    "integer_shares",
    "integral_edge_cover",
    "is_acyclic",
    "is_free_connex",
    "is_valid",
    "least_height_tree",
    "least_width_order",
    "lifespans",
    "linear_tree",
    "order_violations",
    "order_width",
    "reduce",
    "rewrite",
    "rewriting_violations",
    "schema_graph",
    "search_tree",
    "shape_of",
    "simple_tree",
    "static_bags",
    "static_dynamic",
    "summed",
    "to_join_tree",
    "transition_system",
    "tree_enclosureness",
    "unconstrained_pairs",
    "variable_order",
    "violations",
    "well_behaved",
    "width_one_violations",
    "with_branches",
]
