"""Where things lie in the arena and in the plan of a bag: named offsets, all in 64-bit words.

A *store* holds the tuples that some relations of the bag share: those of atoms over one table with the same columns and
the same conditions. It has a *node* for every set of its columns that some program looks up, all columns among them;
the entries of a node are the distinct projections to its columns. An *edge* leads from a node to one with more columns:
each source entry has the block of the target entries that agree with it, which a program iterates over.

    entry (of a node)   SUPPORT   all columns: sum of the multiplicities of its rows; else: tuples that project to it
                        for each edge that leaves the node LEN, BLOCK (as in `livejoin.kernels.memory.blocks`)
                        for each edge that ends in the node POS, the position in the source entry's block
                        HEAVY in a bag with pair views: 1 + position among the node's heavy entries, 0: light
                        the key's words
    record (of a row)   the values of the row that the bag uses, those of its factors, then for each store over the
                        table the entry of the row's tuple, 0 if the row does not take part, then its multiplicity

A *program* joins a changed tuple of one relation with the others. It reads and writes *bindings*, one word an attribute
of the bag, and *slots*, which keep the entry that each relation has reached; both lie in the arena's header.
"""

from __future__ import annotations

from livejoin.kernels.memory.layout import ARENA_HEADER

BAG_STATE_FORMAT = 1  # changes whenever a stored state could be misread

# Arena header behind the fixed one: the change that is at work
H_ENTRY = ARENA_HEADER  # entry of the changed tuple
H_OLD = ARENA_HEADER + 1  # its multiplicity before and after
H_NEW = ARENA_HEADER + 2
H_DEPTH = ARENA_HEADER + 3  # innermost open step, 0: none is open, -1: the program has not begun
H_FRESH = ARENA_HEADER + 4  # 1 if the next result differs from the one written last
H_OVERFLOW = ARENA_HEADER + 5  # 1 if a multiplicity became too large
H_MET = ARENA_HEADER + 6  # 1 if the changed tuple was joined with itself
H_SUM = ARENA_HEADER + 7  # of a bag that keeps nothing: the change of its size so far
H_KEY = ARENA_HEADER + 8  # two words: a key that is looked up
H_STORE = ARENA_HEADER + 10  # its store
BAG_STACK = ARENA_HEADER + 11  # bindings, slots, frames; tables and directories follow

# Frame of a step
F_BLOCK = 0
F_LEN = 1
F_INDEX = 2
F_WEIGHT = 3  # product of the multiplicities down to this step
F_CHOICE = 4  # the participant whose block is iterated
BAG_FRAME = 5

# Entry
X_SUPPORT = 0
X_EDGES = 1  # LEN, BLOCK of each edge that leaves the node

# Plan header; words 2 and 3 are those of `livejoin.kernels.join.layout`, which the kernels of records read
P_COLUMNS = 0  # attributes that the bag keeps
P_BINDINGS = 1  # references in the arena
P_TABLES = 2
P_FIRST_TABLE = 3
P_SLOTS = 4
P_FRAMES = 5
P_PAIRS = 6  # number of pair views, their descriptors in a row
P_FIRST_PAIR = 7
P_LEAST_HEAVY = 8  # no value with fewer tuples is heavy
BAG_HEADER = 9

# Plan: store
S_BIT = 0  # position of an atom in an event's mask
S_REF = 1  # offset of the entry's reference in a record
S_KEY = 2  # list of the offsets of its columns in a record
S_NODES = 3
S_NODE_LIST = 4  # node descriptors in a row; the first has all columns
S_EDGES = 5
S_EDGE_LIST = 6  # edge descriptors in a row
S_RELATIONS = 7
S_RELATION_LIST = 8  # relation descriptors in a row

# Plan: relation of a store
RL_PROGRAM = 0
RL_SUPPORT = 1  # 1 if only the support counts
RL_ORBIT = 2  # relations from here on that symmetries map this one to, with it; 1 unless the bag keeps nothing
BAG_RELATION = 3

# Plan: node
ND_DIRECTORY = 0
ND_SIZE = 1  # words of an entry
ND_KEY = 2  # offset of the key in an entry
ND_WIDTH = 3
ND_FROM = 4  # list of the offsets of its columns in an entry of the first node
ND_LEAVING = 5  # number of edges that leave it
ND_PLACE = 6  # scratch word in the arena's header: its entry for the changed tuple
ND_HEAVY = 7  # offset of HEAVY in an entry (bags with pair views)
ND_LIST = 8  # reference in the arena's header: number of heavy entries, block of their references
BAG_NODE = 9

# Plan: edge
ED_SOURCE = 0  # node descriptors
ED_TARGET = 1
ED_BLOCK = 2  # offset of LEN in a source entry
ED_POS = 3  # offset of POS in a target entry
BAG_EDGE = 4

# Plan: program
G_START = 0  # number of attributes of the changed tuple, list of pairs (offset in its entry, attribute)
G_START_LIST = 1
G_PROBES = 2  # relations that are looked up at the start, list of participants
G_PROBE_LIST = 3
G_STEPS = 4  # number of steps, list of pairs (number of participants, list of participants)
G_STEP_LIST = 5
G_KEPT = 6  # list of the attributes that the bag keeps
G_LAST = 7  # the last step that binds a kept attribute, 0 if the changed tuple has them all
G_PAIR = 8  # the pair view of its only step, 0: none
G_FIRST_SIDE = 9  # which participant of the step is the view's first side

# Plan: participant of a step or of the start
A_DIRECTORY = 0  # of the node that is reached
A_KEY = 1
A_WIDTH = 2
A_OFFSETS = 3  # list of the attributes of the key
A_SLOT = 4  # slot of the entry that is reached
A_FROM = 5  # slot of the entry that is left (steps)
A_BLOCK = 6  # offset of LEN in it (steps)
A_BOUND = 7  # attributes that a step binds, list of pairs (offset in the entry that is reached, attribute)
A_BOUND_LIST = 8
A_WEIGHS = 9  # NOTHING, MULTIPLICITY or SUPPORT: what the entry that is reached contributes
A_BEFORE = 10  # 1 if the relation has seen the current change already
PARTICIPANT = 11

NOTHING = 0  # the node has not all columns
MULTIPLICITY = 1
SUPPORT = 2  # 1 if the multiplicity is positive

# Plan: pair view (see `livejoin.kernels.bag.heavy_pairs`)
PV_DIRECTORY = 0
PV_OFFSETS = 1  # the list 0, 1
PV_SIDES = 2  # two descriptors
SD_STORE = 0
SD_NODE = 1  # the node of the values
SD_BLOCK = 2  # offset of LEN of a value's tuples in its entry
SD_COLUMN = 3  # column of the value, 0 or 1
SD_WHOLE = 4  # the node of the tuples
SD_MIDDLE = 5  # the node of the values in between, and the same for them
SD_MIDDLE_BLOCK = 6
SD_MIDDLE_COLUMN = 7
SIDE = 8
BAG_PAIR = PV_SIDES + 2 * SIDE

# Entry of a pair view: the sum, then the references of the two values' entries
PAIR_KEY = 1
PAIR_ENTRY = 3

# Output: rows of a (columns + OUTPUT_FIELDS, n) matrix behind the columns
O_WEIGHT = 0
O_VERSION = 1
OUTPUT_FIELDS = 2
