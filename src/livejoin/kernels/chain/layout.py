"""Where things lie in the state and in the plan of a chain of binary joins: offsets in 64-bit words.

Every relation of the chain is a *store*: the rows of each atom, projected to the variables that are needed, and the
result of each join so far, which is kept in full. A store has its rows in a directory by all their values, and an
index by the key of the next join.

    row          SUPPORT   for an atom the base rows that it is projected from; else the pairs of a row on the left and
                           one on the right that it is made of
                 PENDING   its record in the delta of the current batch, 0: none
                 UP        index entry | position in its block, if the store has an index
                 the multiplicity or annotation, unless only the support counts; the values
    index entry  LEN       rows with this key
                 BLOCK     reference of their block, its size class in the bits from CLASS_SHIFT on
                 the key
    record       the values and factors of a base row, then for each atom over the table MULTIPLICITY and ROW, the
                 store's row that it is projected to

A row is there if and only if its support is positive; so a multiplicity that wraps to zero loses nothing.
"""

from __future__ import annotations

from livejoin.kernels.join.batch_delta import BATCH_PLAN_HEADER, X_OWN
from livejoin.kernels.memory.layout import ARENA_HEADER

STATE_FORMAT = 2  # changes whenever a stored state could be misread

# Arena header
SCRATCH = ARENA_HEADER  # the values of a row that is looked up; tables and directories follow

# Plan header, behind that of deltas
P_ATOMS = BATCH_PLAN_HEADER  # number of atoms, list of their descriptors
P_ATOM_LIST = BATCH_PLAN_HEADER + 1
P_STAGES = BATCH_PLAN_HEADER + 2  # number of joins, list of their descriptors
P_STAGE_LIST = BATCH_PLAN_HEADER + 3
P_RESULT = BATCH_PLAN_HEADER + 4  # the store of the result
P_OUTPUT = BATCH_PLAN_HEADER + 5  # offset of each head column in its rows
P_IDENTITY = BATCH_PLAN_HEADER + 6  # list of 0, 1, 2, ...
CHAIN_HEADER = BATCH_PLAN_HEADER + 7

# Row
ROW_SUPPORT = 0
ROW_PENDING = 1
ROW_UP = 2

# Index entry
ENTRY_LEN = 0
ENTRY_BLOCK = 1
ENTRY_KEY = 2

# Store descriptor
S_NUMBER = 0
S_DIRECTORY = 1
S_SIZE = 2  # words of a row
S_VALUE = 3  # offset of the multiplicity or annotation
S_KEY = 4  # offset and number of the values
S_WIDTH = 5
S_INDEX = 6  # directory of the index, 0: none
S_INDEX_SIZE = 7  # words of an entry
S_INDEX_WIDTH = 8  # number of the key's values, list of their offsets in the rows
S_INDEX_OFFSETS = 9
STORE = 10

# Atom descriptor
A_TABLE = 0
A_BIT = 1  # position of the atom in an event's mask
A_MULTIPLICITY = 2  # offsets in a record
A_ROW = 3
A_STORE = 4
A_OFFSETS = 5  # list of the offsets of the store's values in a record
A_FACTORS = 6
A_FACTOR_LIST = 7
ATOM = 8

# Stage descriptor: the join of a store on the left and an atom's on the right
J_LEFT = 0
J_RIGHT = 1
J_RESULT = 2
J_VALUES = 3  # list of pairs for the values of the result: 0 left or 1 right, offset

# Record of a row in a delta
X_SUPPORT = X_OWN  # change of its support
X_VALUE = X_OWN + 1  # change of its multiplicity or annotation
RECORD = X_VALUE

# Phases of a batch
FRESH = 0
GATHERING = 1  # events to changes of the atoms' stores
JOINING = 2  # through all joins
EMITTING = 3
APPLYING = 4  # the changes of the result

# Steps of a join
JOIN_RIGHT = 0  # the old left side with the changes on the right
APPLY_RIGHT = 1
JOIN_LEFT = 2  # the changes on the left with the new right side
APPLY_LEFT = 3

# Cursor of a scan
K_SLOT = 0  # position in the directory's hash slots
K_COPIES = 1  # copies of its row already written
CURSOR = 2
