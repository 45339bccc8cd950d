"""Where things lie in a view's arena and in its plan: named offsets, all in 64-bit words.

Words that carry two numbers have the first in their high and the second in their low 32 bits. A *slot* is one child's
half of a directory entry: the rows of the child's semi-join view ``V_s`` that carry the entry's key.

    slot (3 words)      LEN|REG   rows in V_s (the derivation count of the key in V_p) | rows registered, in V_s or not
                        BLOCK     reference of the block of V_s rows, its size class in the bits from CLASS_SHIFT on
                        WEIGHT    the annotation w_p if it is one word, else free; of a connex child: scratch of `count`
    edge entry          slot, PAR (LEN|LIVE: parent rows with this key | the live ones, which stand first),
                        PAR_BLOCK (as BLOCK), then the key's words and the annotation's: the directory of a linked edge
    derived row         a slot for each inline child, STATE, UP, a LINK a linked child, TOUCH where there is one, the
                        key's words, and the annotations of the inline children: the entry of the directory that all
                        inline children of a generalized or projection node share, and at the same time that node's row
    record              the values of a base row that the query uses and the factors that annotate it (once for all
                        atoms over the table), then for each atom over the table STATE, UP, a LINK a child, and TOUCH

    STATE   multiplicity (atom) or live flag (derived) above COUNTER_BITS, below: children whose V_p has the key
    UP      slot in the parent's directory | position in the slot's block while in V_s
    LINK    edge entry | position in the entry's block of parent rows
    TOUCH   next row in the list of rows whose annotation the current change has touched, 0: not in it

A child is *inline* if its key is all of its derived parent: then its slot lies in the parent's row and there is one
such row. Otherwise it is *linked*: an entry of the edge's directory has the slot and the parent rows with this key.
"""

from __future__ import annotations

STATE_FORMAT = 3  # changes whenever a stored state could be misread

MASK32 = 0xFFFFFFFF
COUNTER_BITS = 16
COUNTER_MASK = (1 << COUNTER_BITS) - 1
CLASS_SHIFT = 40
REF_MASK = (1 << CLASS_SHIFT) - 1
MAX_WORDS = 1 << 32

# Arena header
H_OVERFLOW = 0  # -1: what the current call has computed does not fit its words; no reference is 0
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
H_RUNS = 15  # segments that the output buffers hold
H_PROBES = 16  # look-ups of keys in directories, in total
H_CLASSES = 17  # bit set of the size classes whose free list is not empty
H_WEIGHED = 18  # changes of a multiplicity that stayed positive, in total
H_STOPPED = 19  # rows that entered or left some V_s without a change of V_p, in total
H_ROOT = 20  # the root's slot
H_TOUCHED_ROWS = 23  # head of the list of touched rows, TOUCH_END: empty
H_VERSION = 24  # version of the current event
H_STEP = 25  # of the annotation pass: what it does, what follows it, the node of the touched rows
H_NEXT = 26
H_TOUCHED_NODE = 27
H_FREE = 28  # one free list a size class
SIZE_CLASSES = 33
H_STACK = H_FREE + SIZE_CLASSES  # frames of the propagation, FRAME words each; tables and directories follow

FRAME = 3
F_NODE = 0
F_ROW = 1
F_INDEX = 2
F_WEIGHT = 3  # the change of an annotation, P_WORDS words

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
P_POSTORDER = 7  # node offsets of the connex nodes, children first
P_MODE = 8  # BAG, SET or RING
P_WORDS = 9  # words of an annotation
P_COMPONENTS = 10  # its components: number, list of their widths in words (1 or 2)
P_WIDTHS = 11
P_FRAME = 12  # words of a frame of the propagation's stack
P_LEVEL = 13  # words of a level of a cursor
P_CONNEX = 14  # number of connex nodes
PLAN_HEADER = 15

BAG = 0  # results with multiplicities, every node is connex
SET = 1  # distinct results
RING = 2  # distinct results with annotations

TOUCH_END = -1

# Plan: table descriptor
PT_HEADER = 0  # reference of the table header in the arena
PT_STRIDE = 1
PT_ATOMS = 2
PT_ATOM_LIST = 3  # node offsets
PT_VALUES = 4
PT_VALUE_LIST = 5  # columns of the base table, by position of the value in the record
PLAN_TABLE = 6

# Plan: node descriptor
N_ATOM = 0  # 1 for an atom, 0 for a derived node: a generalized relation or a projection
N_TABLE = 1
N_PARENT = 2  # node offset, -1 for the root
N_INDEX = 3  # position among the parent's children, inline ones first
N_CHILDREN = 4
N_CHILD_LIST = 5  # node offsets
N_STATE = 6  # offsets in the node's rows
N_UP = 7
N_LINK = 8  # LINK of child c is at N_LINK + c
N_DIRECTORY = 9  # the directory that holds this node's slots (unused by the root)
N_ENTRY = 10  # words of an entry of it (linked)
N_ENTRY_KEY = 11  # offset of the key in an entry
N_KEY_WIDTH = 12
N_KEY = 13  # offsets of key(e) in this node's rows
N_PARENT_KEY = 14  # offsets of key(e) in the parent's rows (linked)
N_CHAIN = 15  # derived ancestors over inline edges, from the top
N_CHAIN_LIST = 16  # pairs: node offset, list of the offsets of its variables in this atom's rows
N_BIT = 17  # position of the atom in an event's mask
N_PROGRAM = 18  # program of delta enumeration from this node (connex)
N_ROWS_DIRECTORY = 19  # derived: the directory of its own rows, entry size, key offset, key width
N_ROWS_ENTRY = 20
N_ROWS_KEY = 21
N_ROWS_WIDTH = 22
N_INLINE = 23  # number of inline children
N_LINKED = 24  # 1 if the edge to the parent is linked; the root: 0
N_CONNEX = 25  # 1 if the node belongs to the connex subtree
N_WEIGHT = 26  # from this node's slot to its annotation (not connex)
N_TOUCH = 27  # offset of TOUCH in the node's rows, -1: none
N_FACTORS = 28  # factors of an atom's annotation: number, list of pairs (component, offset in the record)
N_FACTOR_LIST = 29
PLAN_NODE = 30

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
STEP_STATE = 3  # STATE offset of the rows found if their multiplicity counts, else -1
STEP_SHIFT = 4  # STEP_UP_INLINE: words from the derived row to the slot
STEP_NODE = 5  # node offset
STEP = 6

STEP_ROOT = 0  # the root's V_s
STEP_DOWN_LINKED = 1  # child slot through a LINK
STEP_DOWN_INLINE = 2  # child slot inside the derived row
STEP_UP_LINKED = 3  # live parents of an edge entry
STEP_UP_INLINE = 4  # the one parent row

# Cursor of an enumeration
C_DEPTH = 0  # innermost open depth, 0: not started
C_REPEAT = 1  # copies of the current innermost row already written
CURSOR_HEADER = 2
C_BLOCK = 0
C_LEN = 1
C_INDEX = 2
C_ROW = 3
C_WEIGHT = 4  # product of the multiplicities or annotations down to this depth; the level ends with it
LEVEL = 5  # words of a level while an annotation has one word

# Events: rows of a (EVENT_FIELDS, n) matrix
V_TABLE = 0
V_ROW = 1  # row id in the base table
V_WEIGHT = 2
V_MASK = 3  # atoms whose predicate holds
V_VERSION = 4
EVENT_FIELDS = 5

# Segments of the output: rows of a (RUN_FIELDS, n) matrix
R_START = 0  # first output row of a segment of equal version and sign
R_VERSION = 1
R_SIGN = 2
RUN_FIELDS = 3

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
ANNOTATE = 9

# Steps of the annotation pass
WALK = 0
WITHDRAWING = 1  # enumerates the old results of a row just touched
TOUCH_SELF = 2  # the row of the change is touched itself
FLUSH = 3
RESTORING = 4  # enumerates the new results of a touched row

# What follows it
THEN_DONE = 0
THEN_ENTER = 1
THEN_WITHDRAW = 2

DONE = 0
NEED_SPACE = 1
OUTPUT_FULL = 2
TOO_LARGE = 3  # a multiplicity does not fit: it is above the greatest one of a derived row
MAX_MULTIPLICITY = 1 << 46
