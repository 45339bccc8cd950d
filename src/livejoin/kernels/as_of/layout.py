"""Where things lie in the two arenas of an as-of join and in its form: named offsets, all in 64-bit words.

Both arenas are ordered multisets (`livejoin.kernels.ordered.order_nodes`). That of the left side has the cursor of an
interrupted call behind the header of its tree, then two rows that are looked for; that of the right side has one.
"""

from __future__ import annotations

from livejoin.kernels.ordered.order_nodes import T_END

# Header of the left arena behind that of the tree
H_CHANGE = T_END  # cursor of an interrupted `maintain`: change of the left side, of the right side, step, version
H_OTHER = T_END + 1
H_STEP = T_END + 2
H_VERSION = T_END + 3
H_TOUCHED = T_END + 4  # right entries that the version touched
H_DONE = T_END + 5  # how many of them are done in the step
H_CURRENT = T_END + 6  # right entry whose left rows move, 0 if none has begun
H_NEXT = T_END + 7  # the right entry behind it, 0 if its key has none
H_OLD = T_END + 8  # the match of these rows before the version, and behind it; 0 is none
H_NEW = T_END + 9
H_LEAF = T_END + 10  # where the run of left rows was left, of leaf 0 if it has not begun
H_PLACE = T_END + 11
H_MADE = T_END + 12  # changes written by the current call
H_TOTAL = T_END + 13  # rows of the result
H_FULL = T_END + 14  # NEED_SPACE: the side whose arena must grow, 0 or 1
H_LOW = T_END + 15  # offsets of the two rows
H_HIGH = T_END + 16
LEFT_HEADER = T_END + 17
RIGHT_HEADER = T_END  # then the row

# Steps of a version, in their order
NEXT_VERSION = 0
GOING = 1
APPLYING = 2
MOVING = 3
FORGETTING = 4
COMING = 5

# Form
P_AFTER = 0  # 1: a right row that is equal is in front of a left row, 0: behind it
P_OPTIONAL = 1  # 1: a left row without a match stands in the result, with NULLs
P_NULLS = 2  # then the words of a right row of NULLs

# Lines of the output, then the words of the left row, then those of the right one
L_WEIGHT = 0
L_VERSION = 1
LINES = 2
