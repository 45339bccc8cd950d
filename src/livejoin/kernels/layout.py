"""Where things lie in a view's arena and in its plan: named offsets, all in 64-bit words.

Words that carry two numbers have the first in their high and the second in their low 32 bits. A *slot* is one child's
half of a directory entry: the rows of the child's semi-join view ``V_s`` that carry the entry's key.

    slot (3 words)      LEN|REG   rows in V_s (the derivation count of the key in V_p) | rows registered, in V_s or not
                        BLOCK     reference of the block of V_s rows, its size class in the bits from CLASS_SHIFT on
                        WEIGHT    annotation: sum of the weights of the slot's rows, valid while counting
    edge entry          slot, PAR (LEN|LIVE: parent rows with this key | the live ones, which stand first),
                        PAR_BLOCK (as BLOCK), then the key's words: the directory of an edge whose parent is an atom
    generalized row     a slot for each child, STATE, UP, then the key's words: the entry of the directory that all
                        children of a generalized node share, and at the same time that node's row
    record              the values of a base row that the query uses (once for all atoms over the table), then for
                        each atom over the table STATE, UP and a LINK a child

    STATE   multiplicity (atom) or live flag (generalized) above COUNTER_BITS, below: children whose V_p has the key
    UP      slot in the parent's directory | position in the slot's block while in V_s
    LINK    edge entry | position in the entry's block of parent rows
"""

from __future__ import annotations

STATE_FORMAT = 1  # changes whenever a stored state could be misread

MASK32 = 0xFFFFFFFF
COUNTER_BITS = 16
COUNTER_MASK = (1 << COUNTER_BITS) - 1
CLASS_SHIFT = 40
REF_MASK = (1 << CLASS_SHIFT) - 1
MAX_WORDS = 1 << 32

# Arena header
H_BUMP = 1
H_END = 2
H_DUPLICATES = 3  # registered atom rows with a multiplicity other than one
H_EVENT = 4  # cursor of an interrupted `maintain`: event, atom of the event's table, phase, node, row, stack height
H_ATOM = 5
H_PHASE = 6
H_NODE = 7
H_ROW = 8
H_SP = 9
H_OUT = 10  # rows and segments written to the output buffers by the current call
H_SEGMENTS = 11
H_REGISTERED = 12  # atom rows registered
H_PROPAGATED = 13  # rows that entered or left some V_s, in total
H_TOUCHED = 14  # counters changed by P-UPDATE, in total
H_SEGMENT_KEY = 15  # version and sign of the last segment
H_SEGMENT_SIGN = 16
H_CLASSES = 17  # bit set of the size classes whose free list is not empty
H_WEIGHED = 18  # changes of a multiplicity that stayed positive, in total
H_ROOT = 20  # the root's slot
H_FREE = 24  # one free list a size class
SIZE_CLASSES = 33
H_STACK = H_FREE + SIZE_CLASSES  # frames of the propagation, FRAME words each; tables and directories follow

FRAME = 3
F_NODE = 0
F_ROW = 1
F_INDEX = 2

# Slot and edge entry
S_LEN = 0
S_BLOCK = 1
S_WEIGHT = 2
SLOT = 3
E_PARENTS = 3
E_PARENT_BLOCK = 4
E_KEY = 5

# Directory header
D_SLOTS = 0
D_LOG = 1
D_COUNT = 2
D_FREE = 3
DIRECTORY = 4

# Table header: chunks of records
T_CHUNKS = 0  # reference of the chunk table
T_COUNT = 1  # chunks allocated
T_CLASS = 2  # size class of the chunk table
TABLE = 3
CHUNK_BITS = 8
CHUNK_ROWS = 1 << CHUNK_BITS

# Plan header
P_NODES = 0
P_FIRST_NODE = 1
P_TABLES = 2
P_FIRST_TABLE = 3
P_HEAD = 4
P_LIVE = 5  # 1: keeps live views
P_FULL = 6  # the program of full enumeration
P_POSTORDER = 7  # node offsets, children first
PLAN_HEADER = 8

# Plan: table descriptor
PT_HEADER = 0  # reference of the table header in the arena
PT_STRIDE = 1
PT_ATOMS = 2
PT_ATOM_LIST = 3  # node offsets
PT_VALUES = 4
PT_VALUE_LIST = 5  # columns of the base table, by position of the value in the record
PLAN_TABLE = 6

# Plan: node descriptor
N_ATOM = 0  # 1 for an atom, 0 for a generalized relation
N_TABLE = 1
N_PARENT = 2  # node offset, -1 for the root
N_INDEX = 3  # position among the parent's children
N_CHILDREN = 4
N_CHILD_LIST = 5  # node offsets
N_STATE = 6  # offsets in the node's rows
N_UP = 7
N_LINK = 8  # first LINK (atom)
N_DIRECTORY = 9  # the directory that holds this node's slots (unused by the root)
N_ENTRY = 10  # words of an entry of it
N_ENTRY_KEY = 11  # offset of the key in an entry
N_KEY_WIDTH = 12
N_KEY = 13  # offsets of key(e) in this node's rows
N_PARENT_KEY = 14  # offsets of key(e) in the parent's rows (parent is an atom)
N_CHAIN = 15  # generalized ancestors up to the root of the tree, from the top
N_CHAIN_LIST = 16  # pairs: node offset, list of the offsets of its key in this atom's rows
N_BIT = 17  # position of the atom in an event's mask
N_PROGRAM = 18  # program of delta enumeration from this node
N_ROWS_DIRECTORY = 19  # generalized: the directory of its own rows, entry size, key offset, key width
N_ROWS_ENTRY = 20
N_ROWS_KEY = 21
N_ROWS_WIDTH = 22
PLAN_NODE = 23

# Plan: enumeration program
G_DEPTHS = 0
G_STEPS = 1
G_OUTER = 2  # number of head columns from outer depths, list of (column, depth, offset)
G_OUTER_LIST = 3
G_INNER = 4  # number of head columns from the innermost depth, list of (column, offset)
G_INNER_LIST = 5
PROGRAM = 6

STEP_KIND = 0
STEP_SOURCE = 1  # depth of the row that the step starts from
STEP_OFFSET = 2
STEP_STATE = 3  # STATE offset of the rows found, -1 for generalized rows
STEP_SHIFT = 4  # STEP_UP_GENERALIZED: words from the generalized row to the slot
STEP = 5

STEP_ROOT = 0  # the root's V_s
STEP_DOWN_ATOM = 1  # child slot through a LINK
STEP_DOWN_GENERALIZED = 2  # child slot inside the generalized row
STEP_UP_ATOM = 3  # live parents of an edge entry
STEP_UP_GENERALIZED = 4  # the one parent row

# Cursor of an enumeration
C_DEPTH = 0  # innermost open depth, 0: not started
C_REPEAT = 1  # copies of the current innermost row already written
CURSOR_HEADER = 2
C_BLOCK = 0
C_LEN = 1
C_INDEX = 2
C_ROW = 3
C_WEIGHT = 4  # product of the multiplicities down to this depth
LEVEL = 5

# Events: rows of a (EVENT_FIELDS, n) matrix
V_TABLE = 0
V_ROW = 1  # row id in the base table
V_WEIGHT = 2
V_MASK = 3  # atoms whose predicate holds
V_VERSION = 4
EVENT_FIELDS = 5

# Phases of one change at one atom
FRESH = 0
ENTER = 1
ENTER_ENUMERATE = 2
ENTER_NEXT = 3
LEAVE = 4
LEAVE_ENUMERATE = 5
LEAVE_DETACH = 6
LEAVE_NEXT = 7
WEIGH = 8  # only a multiplicity changed

DONE = 0
NEED_SPACE = 1
OUTPUT_FULL = 2
