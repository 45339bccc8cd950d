"""Where things lie in the arena and in the plan of rows within bounds: named offsets, all in 64-bit words.

The arena is that of an ordered multiset (`livejoin.kernels.ordered.order_nodes`) with a directory of bounds beside it.
"""

from __future__ import annotations

from livejoin.kernels.groups import layout as g
from livejoin.kernels.memory.layout import DIRECTORY
from livejoin.kernels.ordered.order_nodes import T_END

# Arena header behind that of the tree, and behind the scratch words of accumulators, which begin at G_TERM
assert T_END <= g.G_TERM, "the words of the tree end in front of the scratch words of accumulators"
K_BOUNDS = g.G_RIGHT  # directory of the bounds
K_CHANGE = K_BOUNDS + DIRECTORY  # cursor of an interrupted `maintain`: change of a row, of a bound, step, version
K_MOVE = K_CHANGE + 1
K_STEP = K_CHANGE + 2
K_VERSION = K_CHANGE + 3
K_MOVED = K_CHANGE + 4  # the bounds that the version touched, a list
K_STAGE = K_CHANGE + 5  # of the first of them: whether its run, or a group of it, has begun
K_LOW = K_CHANGE + 6  # its two places, 0 for an end of the key's rows, and whether what is between comes or goes
K_HIGH = K_CHANGE + 7
K_SIGN = K_CHANGE + 8
K_LEAF = K_CHANGE + 9  # where its run is
K_PLACE = K_CHANGE + 10
K_MADE = K_CHANGE + 11  # changes written by the current call
K_TOTAL = K_CHANGE + 12  # rows of the result, where rows are selected
K_HEADER = K_CHANGE + 13  # a row that is looked for, then three values of entries

NEXT_VERSION = 0
GOING = 1
BINDING = 2
MOVING = 3
COMING = 4

# Record of a bound; then the bound now, the bound before, the key
B_COUNT = 0
B_LISTED = 1
B_NEXT = 2
B_HAS = 3  # whether there is one now
B_HAD = 4
B_NOW = 5

# Form: the plan of these kernels beside those of the order
F_KEY = 0  # words of a key
F_BEFORE = 1  # words before the one that is compared
F_BOUND = 2  # words of a bound
F_AFTER = 3  # 1: the place of a bound is behind the rows that are equal to it
F_ABOVE = 4  # 1: the rows behind the place stand in the result, 0: those before it
F_RECORD = 5  # words of a record
F_RECORD_KEY = 6  # offset of the key in it
F_SUMMED = 7  # 1: sums are kept, and no rows
F_ROW = 8  # where the row that is looked for is
F_TERM = 9  # where values are: what a row adds, sums up to the places
F_LOW = 10
F_HIGH = 11
F_OFFSETS = 12  # 0, 1, ..., as many as a key has words

# Lines of the output, then the words of the row, then values
L_WEIGHT = 0
L_VERSION = 1
LINES = 2
