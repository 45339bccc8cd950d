"""Where things lie in the arenas of two sides that are compared, and in their form: named offsets, in 64-bit words.

All three arenas are ordered multisets with sums (`livejoin.kernels.ordered.sums`). Behind the header of the tree and
the scratch words of accumulators they have, at the same places, a row that is looked for, the compared words of a
second bound, and three values of entries. The header of the left one has the cursor of an interrupted call besides.
"""

from __future__ import annotations

from livejoin.kernels.groups import layout as g
from livejoin.kernels.ordered.order_nodes import T_END

assert T_END <= g.H_TERM, "the words of the tree end in front of the scratch words of accumulators"
H_CHANGE = g.H_RIGHT  # cursor of an interrupted `maintain`: change of the left side, of the right one, step, version
H_OTHER = H_CHANGE + 1
H_STEP = H_CHANGE + 2
H_VERSION = H_CHANGE + 3
H_STAGE = H_CHANGE + 4  # of a change: not begun, in the trees, on its way through the rows of the other side
H_LEAF = H_CHANGE + 5  # where these rows were left
H_PLACE = H_CHANGE + 6
H_MADE = H_CHANGE + 7  # changes written by the current call
H_FULL = H_CHANGE + 8  # NEED_SPACE: the arena that must grow, 0 left, 1 lower bounds, 2 right
H_TOTAL = H_CHANGE + 9  # pairs
SIDES_HEADER = H_CHANGE + 10

# Steps of a version, in their order
NEXT_VERSION = 0
LEFT = 1
RIGHT = 2

# Stages of a change
WAITING = 0
APPLIED = 1
WALKING = 2

# Form. The bounds are those of left rows; what is compared with them is the point of a right row.
P_ROW = 0  # where the row that is looked for is, in each arena
P_BOUND = 1  # where the words of a lower bound are that stands beside an upper one
P_TERM = 2  # where values are: what a row adds, and two sums
P_LOW = 3
P_HIGH = 4
P_SIZE = 5  # words of a bound, or of a point
P_HAS_HIGH = 6  # whether there is an upper bound, and whether equal points are below it
P_UP_TO = 7
P_HAS_LOW = 8  # whether there is a lower bound, and whether equal points are below it, that is outside
P_BEYOND = 9
P_KEEPS_LOW = 10  # 1: left rows are kept in the order of their lower bounds too
P_LEFT_AT = 11  # words of a left row in front of its bound, of a right one in front of its point
P_RIGHT_AT = 12
P_LEFT_ROWS = 13  # 1: each row of the side may be a group, and they are kept in the order of bounds, or of points
P_RIGHT_ROWS = 14
P_LEFT_GROUPS = 15  # 1: the rows of a key are of several groups, which stand in front of bounds, or of points
P_RIGHT_GROUPS = 16
P_SKIPS = 17  # 1: left rows have both bounds, and in the order of the upper one they are in none of the lower one
P_COUNTS = 18  # 1: pairs are counted, and no line of them is written
FORM = 19

# Where an entry stands to the range of a row of the other side
END = -1  # behind all that are in it
OUTSIDE = 0
WITHIN = 1

# Lines of the output, then the words of a left row, those of a right one, and values
L_WEIGHT = 0
L_VERSION = 1
LINES = 2
