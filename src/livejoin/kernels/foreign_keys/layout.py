"""Where things lie in the arena of a foreign-key join and in its plan: named offsets, all in 64-bit words.

    record      the values of a base row that the query uses, once for all atoms over the table; then for each of these
                atoms STATE, PLACE and a LINK a child: two words, over a quiet edge the first of them
    entry       of a primary key: HOLDS, a HEAD for each edge from a parent, then the key's words. It is there while a
                row has the key or waits for it; an entry that rows wait for and no row has is a *ghost*.

    STATE   multiplicity above COUNTER_BITS; below, the ALIVE bit and over how many edges it has what it wants
    PLACE   of the root: its position in the list of live rows, while it is alive; of others: the entry of its key
    LINK    the entry of the child's key, then, a half of a word each, the next parent of it | the one before, 0 at the
            ends of their list
    HOLDS   the record of the row that has the key, 0 for a ghost, and HOLDS_ALIVE if it is alive
    HEAD    the first of the parents that have the key, 0 if there is none; over a quiet edge how many there are
    NULL row  a record in the header whose values are NULL: of each relation at or below an optional edge. Its links are
            0, and no row lies there, so that below it all is NULL.

An edge is *quiet* if nothing below it changes once a row comes above it, as below static tables, whose rows are loaded
first, children before parents: nobody goes up through it, and no list of parents is kept.

The list of live rows of the root is one block, so that a result has a rank. It has room for all rows of the root.
"""

from __future__ import annotations

from livejoin.kernels.join.layout import PLAN_HEADER
from livejoin.kernels.memory.layout import ARENA_HEADER

STATE_FORMAT = 6  # changes whenever a stored state could be misread

COUNTER_BITS = 16
ALIVE = 1 << 15
COUNTER_MASK = ALIVE - 1
HOLDS_ALIVE = 1 << 32

# Arena header, beside the words of all joins
H_SP = 7  # height of the stack
H_SIGN = 8  # +1: the results that are written come, -1: they go
H_COPIES = 9  # copies of a result that wait to be written, and the root's row that it stands for
H_RESULT = 20
H_LIVE = 21  # the block of live rows of the root, their number, and the number of all of its rows
H_LIVE_COUNT = 22
H_ROOT_ROWS = 23
H_ENDING = 25  # 1: behind the change its row is withdrawn
H_SEEN = ARENA_HEADER  # what was read ahead, for nobody
H_STACK = ARENA_HEADER + 1  # frames of the walk, FRAME words each; tables and directories follow

# A frame: a row whose parents are visited
F_NODE = 0
F_ENTRY = 1  # the entry of its key
F_EDGE = 2  # the edge whose parents are visited next
F_ROW = 3  # the next of them, 0 to begin with the edge
F_WAY = 4  # what has become of the row: UP, DOWN, or SAME, and then only what it is made of has
F_PASS = 5  # over an optional edge: BEFORE, then AFTER; OUTSIDE elsewhere
FRAME = 6

DOWN = -1
SAME = 0
UP = 1
OUTSIDE = 0
BEFORE = 1
AFTER = 2

# Phases of a change
WALK = 1

# Kinds of edges
WANTED = 0  # inner, and exists
NOT_WANTED = 1
OPTIONAL = 2
HIDDEN = 3  # optional, and no result has a column of it

# Record: an atom's own words
R_STATE = 0
R_PLACE = 1
R_LINKS = 2
L_ENTRY = 0
L_NEIGHBOURS = 1
LINK = 2
QUIET_LINK = 1

# Entry
E_HOLDS = 0
E_HEADS = 1

# Plan header, behind that of all joins
P_STEPS = PLAN_HEADER  # the rows that a result is read from: number, list of STEP words
P_STEP_LIST = PLAN_HEADER + 1
P_COLUMNS = PLAN_HEADER + 2  # the head's columns: number, list of (column, step, offset)
P_COLUMN_LIST = PLAN_HEADER + 3
FOREIGN_KEY_HEADER = PLAN_HEADER + 4

STEP = 4
STEP_SOURCE = 0
STEP_LINK = 1
STEP_NULL = 2  # at or below an optional edge the NULL row in the header that stands in the place of no row, else 0
STEP_LEAST = 3  # the least HOLDS in whose place it does not: HOLDS_ALIVE over an optional edge, 1 below it

# Plan: node descriptor
N_ROOT = 0  # 1: the root
N_BIT = 1  # position of the atom in an event's mask
N_TABLE = 2  # position of its table
N_OWN = 3  # offset of the atom's own words in a record
N_DIRECTORY = 4  # of its primary key: header, words of an entry, offset of the key in it, words of the key
N_ENTRY = 5
N_ENTRY_KEY = 6
N_WIDTH = 7
N_KEY = 8  # offsets of the key in a record
N_CHILDREN = 9  # number, list of children
N_CHILD_LIST = 10
N_PARENTS = 11  # number, list of the edges from parents
N_PARENT_LIST = 12
N_ASSERTIONS = 13  # number, list of pairs of paths that must end at one entry
N_ASSERTION_LIST = 14
N_FULL = 15  # the counter of a row that is alive: the children over edges that are not optional
N_WORK = 16  # offset in the header of what is counted at the node, WORK words
NODE = 17

# Header: counted at each node
W_ENTERED = 0  # rows of it that came alive
W_LEFT = 1  # those that died
W_STOPPED = 2  # those among both that no row refers to
W_TOUCHED = 3  # rows of it whose counter changed
W_LOOKED = 4  # rows of it that were walked over since what they lead to changed
W_PASSED = 5  # results that were read for deltas because something came alive or died here; of the root all of them
W_FOUND = 6  # rows of it that were found by a key, of a row that came or left; of the root results of its own changes
WORK = 7

# Plan: a child of a node
C_NODE = 0
C_KEY = 1  # offsets of the child's key in the node's record
C_LINK = 2  # offset of the LINK in it
C_HEAD = 3  # offset of the HEAD in the child's entry
C_KIND = 4  # of the edge
C_QUIET = 5  # 1: it is quiet
CHILD = 6

# Plan: an edge from a parent
A_NODE = 0
A_HEAD = 1  # offset of the HEAD in the node's own entry
A_LINK = 2  # offset of the LINK in the parent's record
A_KIND = 3  # of the edge
A_QUIET = 4  # 1: it is quiet
PARENT = 5

# Cursor of a scan: live rows that are written, copies of the next one that are; then the row of each step
S_LIVE = 0
S_COPIES = 1
S_ROWS = 2
