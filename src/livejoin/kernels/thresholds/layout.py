"""Where things lie in the arena and in the plan of rows within bounds: named offsets, all in 64-bit words.

The arena is that of an ordered multiset (`livejoin.kernels.ordered.order_nodes`) with a directory of bounds beside it.
"""

from __future__ import annotations

from livejoin.kernels.groups import layout as g
from livejoin.kernels.memory.layout import DIRECTORY
from livejoin.kernels.ordered.order_nodes import T_END

# Arena header behind that of the tree, and behind the scratch words of accumulators, which begin at H_TERM
assert T_END <= g.H_TERM, "the words of the tree end in front of the scratch words of accumulators"
H_BOUNDS = g.H_RIGHT  # directory of the bounds
H_CHANGE = H_BOUNDS + DIRECTORY  # cursor of an interrupted `maintain`: change of a row, of a bound, step, version
H_MOVE = H_CHANGE + 1
H_STEP = H_CHANGE + 2
H_VERSION = H_CHANGE + 3
H_MOVED = H_CHANGE + 4  # the bounds that the version touched, a list
H_STAGE = H_CHANGE + 5  # of the first of them: whether its run, or a group of it, has begun
H_LOW = H_CHANGE + 6  # its two places, 0 for an end of the key's rows, and whether what is between comes or goes
H_HIGH = H_CHANGE + 7
H_SIGN = H_CHANGE + 8
H_LEAF = H_CHANGE + 9  # where its run is
H_PLACE = H_CHANGE + 10
H_MADE = H_CHANGE + 11  # changes written by the current call
H_TOTAL = H_CHANGE + 12  # rows of the result, where rows are selected
BOUNDS_HEADER = H_CHANGE + 13  # a row that is looked for, then three values of entries

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
P_KEY = 0  # words of a key
P_BEFORE = 1  # words before the one that is compared
P_BOUND = 2  # words of a bound
P_AFTER = 3  # 1: the place of a bound is behind the rows that are equal to it
P_ABOVE = 4  # 1: the rows behind the place stand in the result, 0: those before it
P_RECORD = 5  # words of a record
P_RECORD_KEY = 6  # offset of the key in it
P_SUMMED = 7  # 1: sums are kept, and no rows
P_ROW = 8  # where the row that is looked for is
P_TERM = 9  # where values are: what a row adds, sums up to the places
P_LOW = 10
P_HIGH = 11
P_OPEN = 12  # 1: a row without a bound stands in the result
P_OFFSETS = 13  # 0, 1, ..., as many as a key has words

# Lines of the output, then the words of the row, then values
L_WEIGHT = 0
L_VERSION = 1
LINES = 2
