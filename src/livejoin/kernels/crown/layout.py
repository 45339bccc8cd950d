"""Where things lie in the arena of a join tree and in its plan: named offsets, all in 64-bit words.

Words that carry two numbers have the first in their high and the second in their low 32 bits. A *slot* is one child's
half of a directory entry: the rows of the child's semi-join view ``V_s`` that carry the entry's key.

    slot (3 words)      LEN|REG   rows in V_s (the derivation count of the key in V_p) | rows registered, in V_s or not
                        BLOCK     reference of the block of V_s rows, its size class in the bits from CLASS_SHIFT on.
                                  Outside of the connex subtree rows are counted and never listed; there it is the
                                  next slot that waits, WAIT_END at the last one, 0 where the slot does not wait
                        WEIGHT    the annotation w_p if it is one word, else free; of a connex child: scratch of `count`
    edge entry          slot, PAR (LEN|LIVE: parent rows with this key | the live ones, which stand first),
                        PAR_BLOCK (as BLOCK), then the key's words and the annotation's: the directory of a linked edge.
                        Of a quiet edge parents are counted, and neither listed nor told from the live ones.
                        Behind the annotation what changes it, and has not been brought to the parents (`waiting`)
    derived row         a slot for each inline child, STATE, UP, a LINK a linked child, TOUCH where there is one, the
                        key's words, and the annotations of the inline children: the entry of the directory that all
                        inline children of a generalized or projection node share, and at the same time that node's row
    record              the values of a base row that the query uses and the factors that annotate it (once for all
                        atoms over the table), then for each atom over the table STATE, UP, a LINK a child, and TOUCH

    STATE   multiplicity (atom) or live flag (derived) above COUNTER_BITS, below: children whose edge is satisfied
    UP      slot in the parent's directory | position in the slot's block while in V_s, if it has one
    LINK    edge entry | position in the entry's block of parent rows, 0 of a quiet edge
    TOUCH   next row in the list of touched rows, whose annotation has changed since their results were withdrawn;
            TOUCH_END: the last one, 0: not in it

A child is *inline* if its key is all of its derived parent: then its slot lies in the parent's row and there is one
such row. Otherwise it is *linked*: an entry of the edge's directory has the slot and the parent rows with this key.

An edge is *quiet* if nothing below it ever changes, as below static tables: nobody comes up through it to ask for the
parents of a key, or whether one of them is live.

A slot's factor in the annotations of its parents is w_p, over an inner edge the sum of the annotations of its rows.
Over the others it is w_p and what an empty slot is worth: 0 (exists), 1 (not exists), what a NULL row is worth
(optional); while V_s has rows w_p is 1, -1, or the sum less what a NULL row is worth, else 0. So it does not rest on a
sum that may be 0 while there are rows.

A node at or below an optional edge has a NULL row in the header, of which all values are NULL, in a slot of its own, to
which the NULL row above it is linked. It is in no entry; its UP word is set where its results are enumerated.
"""

from __future__ import annotations

from livejoin.kernels.join.layout import PLAN_HEADER
from livejoin.kernels.memory.layout import ARENA_HEADER

STATE_FORMAT = 8  # changes whenever a stored state could be misread

COUNTER_BITS = 16
COUNTER_MASK = (1 << COUNTER_BITS) - 1

# Arena header, beside the words of all joins
H_NODE = 7  # cursor of an interrupted `maintain`: node, row, stack height
H_ROW = 8
H_SP = 9
H_ROOT = 20  # the root's slot
H_TOUCHED_ROWS = 23  # head of the list of touched rows, 0: empty
H_STEP = 25  # of the annotation pass: what it does, what follows it, the node of the touched rows
H_NEXT = 26
H_TOUCHED_NODE = 27
H_BASE = ARENA_HEADER  # height of the stack at which the annotation pass began
H_ENDING = ARENA_HEADER + 1  # 1: behind the change its row is withdrawn
H_RESTORING = ARENA_HEADER + 2  # 1: the new results of the first touched row are being enumerated
H_SEEN = ARENA_HEADER + 3  # what was read ahead, for nobody
H_START = ARENA_HEADER + 4  # the node of the change that is carried on
H_WAITING = ARENA_HEADER + 5  # slots whose differences have not been brought to their parents
H_SETTLED = ARENA_HEADER + 6  # the slot whose difference is on its way, 0: none
H_SETTLED_NODE = ARENA_HEADER + 7  # and its node
H_STACK = ARENA_HEADER + 8  # frames of the propagation, FRAME words each; tables and directories follow

FRAME = 4
F_NODE = 0
F_ROW = 1
F_INDEX = 2
F_PHASE = 3  # the phase in which the walk goes on with the frame
F_WEIGHT = 4  # the change of an annotation, P_WORDS words

# Slot and edge entry
S_LEN = 0
S_BLOCK = 1
S_WEIGHT = 2
SLOT = 3
E_PARENTS = 3
E_PARENT_BLOCK = 4
E_KEY = 5

# Plan header, behind that of all joins
P_LIVE = PLAN_HEADER  # 1: keeps live views
P_FRAME = PLAN_HEADER + 1  # words of a frame of the propagation's stack
P_LEVEL = PLAN_HEADER + 2  # words of a level of a cursor
P_CONNEX = PLAN_HEADER + 3  # number of connex nodes
CROWN_HEADER = PLAN_HEADER + 4

TOUCH_END = -1
WAIT_END = -1

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
N_EDGE = 30  # kind of the edge to the parent
N_NULL = 31  # below an optional edge: the node's NULL row, else 0
N_NULL_SLOT = 32  # and the slot that holds it alone
N_ANNOTATED = 33  # 1 if its rows are annotated: it is not connex, and no exists or not exists edge is above it
N_WEIGHS = 34  # 1 if the annotation of its slots is a factor of its parents' annotations
N_FLIPS = 35  # 1 if that changes where V_s of a slot becomes empty or ceases to be
N_EMPTY = 36  # the factor of an empty slot, a word a component; -1: all of them 0
N_OWN = 37  # from the slot to the sum of its rows' annotations (optional edge)
N_QUIET = 38  # 1 if the edge to the parent is quiet
N_WORK = 39  # in the arena's header: what was counted at the node
N_BEHIND = 40  # behind the last node below it, as nodes are in preorder
N_WAIT = 41  # from the slot to the difference that waits there; -1: none does, it goes up at once
PLAN_NODE = 42

# What is counted at a node, in total
W_ENTERED = 0  # rows that entered V_s
W_LEFT = 1  # rows that left it
W_STOPPED = 2  # those among both that changed nothing further up
W_TOUCHED = 3  # counters and annotations of its rows that changes below it changed
W_READ = 4  # rows of it that were read for deltas, on ways that the change did not come
W_WAITING = 5  # no figure: the first slot above the node that waits, 0: none
WORK = 6

# Kinds of edges. A row is in V_s iff every edge to a child is satisfied: by a V_s row of the child with its key, by
# none, or in any case. Children over edges that only want or do not want a row are not connex.
EDGE_INNER = 0
EDGE_EXISTS = 1
EDGE_NOT_EXISTS = 2
EDGE_OPTIONAL = 3  # enumerates the NULL slot while its own is empty

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
STEP_NULL = 6  # STEP_DOWN_LINKED over an optional edge: the NULL slot, else 0
STEP = 7

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

# Phases of one change at one atom, after FRESH
ENTER = 1
ENTER_NULL = 2  # withdraws the NULL row in whose place a first row comes
ENTER_ENUMERATE = 3
ENTER_NEXT = 4
LEAVE = 5
LEAVE_ENUMERATE = 6
LEAVE_DETACH = 7
LEAVE_NULL = 8  # brings the NULL row in the place of the last row
LEAVE_DONE = 9
LEAVE_NEXT = 10
FLIP_NEXT = 11  # parents leave because a key has come
WEIGH = 12  # only a multiplicity changed
ANNOTATE = 13

# Steps of the annotation pass
BEGIN = 0
WALK = 1
WITHDRAWING = 2  # enumerates the old results of a row just touched
BEGIN_SELF = 3  # the row of the change is touched itself
TOUCH_SELF = 4
OVER = 5

# What follows it
THEN_DONE = 0
THEN_ENTER = 1
THEN_WITHDRAW = 2
THEN_RESUME = 3  # the walk goes on
