"""Where things lie in a T-representation's arena, in its plan and in the delta of a batch: offsets in 64-bit words.

A T-representation has, for each node n with parent p, the index of the live tuples ``Lambda_n`` by the key
``pvar(n) = n & p``, the GMR ``Psi_n`` of these keys, and for hyperedges ``Gamma_n`` with an index for each child that
is no guard (DYN, Definition 4.8). A *slot* is one key of ``Psi_n`` with its group of live tuples; a *guard* is a child
that contains its parent, so that its keys are the parent's tuples.

    slot                LEN       live tuples of n with this key: the key is in Psi_n if there are any
                        BLOCK     reference of the block of these tuples, its size class in the bits from CLASS_SHIFT on
                        PENDING   the record of the slot in the delta of the current batch, 0: none; scratch of `count`
                        VALUE     Psi_n of the key: its multiplicity, or an annotation
    edge entry          of a child that is no guard: slot, PARENTS (tuples of Gamma_p with this key), their block, key
    hyperedge tuple     a slot for each guard, UP, PENDING, a LINK for each other child, Lambda_n of it, its values
    record              values and factors of a base row, then for each atom over the table multiplicity, UP, PENDING

    UP      slot | position in the slot's block while the tuple is live, else 0
    LINK    edge entry | position in its block of parents while the tuple is in Gamma_n, else 0

Whether a tuple is in ``Lambda_n`` or a key in ``Psi_n`` is told by the number of tuples below, and not by its
multiplicity: where results have no annotations it is kept modulo 2**64 and could be zero by wrapping. The header of
arena and plan is that of `livejoin.kernels.join.layout`.
"""

from __future__ import annotations

from livejoin.kernels.join.batch_delta import BATCH_PLAN_HEADER, X_OWN
from livejoin.kernels.memory.layout import ARENA_HEADER

STATE_FORMAT = 2  # changes whenever a stored state could be misread

# Arena header
ROOT = ARENA_HEADER  # the root's slot; the values of a row that is looked up, tables and directories follow

# Slot
SLOT_LEN = 0
SLOT_BLOCK = 1
SLOT_PENDING = 2
SLOT_VALUE = 3

# Plan header, behind that of deltas
P_SLOT = BATCH_PLAN_HEADER  # words of a slot
P_ATOMS = BATCH_PLAN_HEADER + 1  # number of atoms, list of their node offsets
P_ATOM_LIST = BATCH_PLAN_HEADER + 2
P_OUTPUT = BATCH_PLAN_HEADER + 3  # number of the variables of N, reference of their values in the arena
P_SCRATCH = BATCH_PLAN_HEADER + 4
DYN_HEADER = BATCH_PLAN_HEADER + 5

# Node descriptor
N_ATOM = 0
N_NUMBER = 1  # position of the node
N_TABLE = 2
N_PARENT = 3  # node offset, -1 for the root
N_INDEX = 4  # position among the parent's children, guards first
N_CHILDREN = 5
N_CHILD_LIST = 6
N_GUARDS = 7
N_IS_GUARD = 8
N_UP = 9  # offsets in the node's tuples
N_PENDING = 10
N_VALUE = 11  # of a hyperedge Lambda_n, of an atom the multiplicity
N_LINK = 12  # LINK of child c is at N_LINK + c
N_KEY = 13  # offsets of the key in the node's tuples
N_KEY_WIDTH = 14
N_PARENT_KEY = 15  # offsets of the key in the parent's tuples
N_DIRECTORY = 16  # the directory of edge entries; of a guard, that of the parent's tuples
N_ENTRY = 17  # words of such an entry or tuple, offset of the key in it
N_ENTRY_KEY = 18
N_ROWS_DIRECTORY = 19  # hyperedge: the directory of its tuples, as N_DIRECTORY of its guards
N_ROWS_KEY = 20
N_ROWS_WIDTH = 21
N_BIT = 22  # position of the atom in an event's mask
N_FACTORS = 23
N_FACTOR_LIST = 24
N_CONNEX = 25  # 1 if the node is in the connex subset N
N_CONNEX_CHILDREN = 26
N_PROGRAM = 27  # atom: program of the enumeration of what its change makes
N_TREE_PATH = 28  # atom: number of nodes from it to the root, list of them
N_TREE_PATH_LIST = 29
N_VARIABLES = 30  # in N: number of the node's variables, list of their places among those of N
N_VARIABLE_LIST = 31
N_VALUE_LIST = 32  # in N: offsets of the variables in the node's tuples
NODE = 33

# Enumeration program: number of steps, list of them; columns of the last step, and of the steps before it
G_STEPS = 0
G_STEP_LIST = 1
G_OUTER = 2  # number, list of (column, depth, offset)
G_OUTER_LIST = 3
G_INNER = 4  # number, list of (column, offset)
G_INNER_LIST = 5
G_LOWEST = 6  # depth of the lowest step over changed tuples, -1: none
PROGRAM = 7

STEP_NODE = 0
STEP_SOURCE = 1  # depth of the parent's tuple, -1 for the root
STEP_OFFSET = 2  # from the parent's tuple to the slot, or to the LINK
STEP_LINKED = 3
STEP_CHANGED = 4  # 1: the step goes over the changed tuples of the slot
STEP = 5

# Cursor of an enumeration
K_DEPTH = 0  # number of open depths, 0: not started
K_COPIES = 1  # copies of the current result already written
CURSOR = 2
K_ROW = 0
K_BLOCK = 1
K_INDEX = 2
K_LEN = 3
K_RECORD = 4  # record of a changed tuple
K_WEIGHT = 5  # product of the multiplicities or annotations down to this depth
LEVEL = 5  # words of a level without the weight

# The delta of a batch has two lists a node: the changed keys, and the tuples U of Algorithm 2
LISTS = 2

# Record of a slot (Delta Psi_n) or of a tuple (Delta Lambda_n)
X_GROUP = X_OWN  # slot: first record of its changed tuples; tuple: next record of the same slot
X_STATE = X_OWN + 1  # slot: LEN after the batch; tuple: WAS and WILL
X_COUNT = X_OWN + 2  # slot: tuples that become live; atom's tuple: change of its multiplicity
X_VALUE = X_OWN + 3  # change of the multiplicity or annotation
RECORD = X_VALUE

WAS = 1  # live before
WILL = 2  # live afterwards

# Phases of `maintain`
PROPAGATE = 0
ENUMERATE = 1
APPLY = 2
