"""Where things lie in the arena and in the plan of a store of groups: named offsets, all in 64-bit words.

group        ROWS, TOUCH, the accumulators, the group's words: an entry of the one directory
touch block  group, next touched group, whether it had a row, the words of that row's results
accumulators COUNT, TRUE 1 word; SUM, SQUARES a two's complement integer of 2, 3 or 5 words, the low one first;
             DOUBLE_SUM the link of a window (`livejoin.kernels.groups.exact_sum`), then how many NaN, inf and -inf;
             DOUBLE_SQUARES, PRODUCTS, CUBES, FOURTHS the link of a window; INDEX, PAIRS, MODE the link of a tree
             (`livejoin.kernels.groups.ordered_index`): of values, of pairs of values, of minus the number of a value
             with the value; BITS a word for each bit of an integer, how many arguments have it
results      one word, which is the value's word; of integer sums and decimals two, the low one first, where the
             high one is `NULL` for NULL and `OVERFLOW` for what 128 bits cannot hold; of lists two, the length and
             where the values are
"""

from __future__ import annotations

from livejoin.kernels.join.ahead import AHEAD
from livejoin.kernels.memory.layout import ARENA_HEADER, DIRECTORY
from livejoin.words import NULL_CODE

NULL = NULL_CODE
OVERFLOW = -(1 << 63)

# Arena header behind the fixed one
H_DIRECTORY = ARENA_HEADER
H_ROW = H_DIRECTORY + DIRECTORY  # cursor of an interrupted `maintain`: row, phase
H_PHASE = H_ROW + 1
H_TOUCHED = H_PHASE + 1  # first and last touch block of the version
H_LAST = H_TOUCHED + 1
H_PAIR = H_LAST + 1  # touched groups given out by the current `maintain`
H_OUT = H_PAIR + 1  # rows and words of lists written by the current call
H_LISTED = H_OUT + 1
H_NEED = H_LISTED + 1  # words of the lists that the next touched group has
H_UNSOUND = H_NEED + 1  # a group of a signed plan whose rows make no multiset; 0 if there is none
H_PATH = H_UNSOUND + 1  # scratch: a path in a tree
H_TERM = H_PATH + 32  # scratch: what a row adds
H_LEFT = H_TERM + 8  # scratch: magnitudes
H_RIGHT = H_LEFT + 72
H_NUMERATOR = H_RIGHT + 136
GROUPS_HEADER = H_NUMERATOR + 216  # then the key of the current row and the results of a group

APPLY = 0
EMIT = 1

# Group
R_ROWS = 0
R_TOUCH = 1
RECORD = 2

# Touch block
T_GROUP = 0
T_NEXT = 1
T_EXISTED = 2
T_RESULTS = 3

# Plan header
P_GROUPS = 0  # words of a group's key
P_RECORD = 1  # words of a group
P_KEY = 2  # offset of the key in it
P_OFFSETS = 3  # list of 0, 1, ..., the offsets of the key's words where it is looked up
P_ACCUMULATORS = 4  # begin and end of the list
P_ACCUMULATORS_END = 5
P_RESULTS = 6
P_RESULTS_END = 7
P_WORDS = 8  # words of all results
P_RESERVE = 9  # words that one row can take from the arena at most, growth of the directory and lists apart
P_TOUCH_CLASS = 10
P_GLOBAL = 11  # 1: the one group has a row even if it is empty
P_LISTS = 12  # number of results that are lists
P_ROW_KEY = 13  # where in the arena the current row's key is
P_SCRATCH = 14  # where in the arena a group's results are
P_PLAIN = 15  # begin of the accumulators that are added to in blocks of rows, which end with the list
P_WORK = 16  # where in the arena the work space of moments is
P_SIGNED = 17  # 1: rows may leave before they come (`livejoin.kernels.groups.signed`)
PLAN = 18

BLOCK = 256
"""Rows whose groups are found before the plain accumulators are added to, one accumulator after the other."""

# Scratch beside the arena
S_HASHES = BLOCK  # of the next rows
S_SEEN = S_HASHES + AHEAD  # what was read ahead, for nobody
SCRATCH = S_SEEN + 1

# Plan: accumulator
A_KIND = 0
A_AT = 1  # offset in the group
A_LINE = 2  # line of the values; a wide decimal is in two
A_NULL = 3  # line whose word is NULL where the argument is
A_DISTINCT = 4  # 1: follows the values that enter and leave the INDEX before it
A_DETAIL = 5  # order of an INDEX; words of SUM_WIDE and SQUARES; where the COUNT of a window is; bits
A_OTHER = 6  # line of the second word of PAIRS, of the other factor of PRODUCTS; -1: there is none
A_OTHER_ORDER = 7  # order of the second words
ACCUMULATOR = 8

COUNT = 0
SUM = 1  # of arguments of one word
SUM_WIDE = 2  # of arguments of two words
SQUARES = 3
SQUARES_WIDE = 4
DOUBLE_SUM = 5
DOUBLE_SQUARES = 6
TRUE = 7
INDEX = 8
MODE = 9  # follows the INDEX before it
PAIRS = 10
PRODUCTS = 11
CUBES = 12
FOURTHS = 13
BITS = 14
SUMMED = 15  # what was added up elsewhere: DETAIL words, the low one first, a line for each

# Plan: result
C_KIND = 0
C_COUNT = 1  # offset of the number of arguments that are not NULL, distinct ones if the call says so
C_FIRST = 2  # offset of the accumulator
C_FIRST_WORDS = 3
C_SECOND = 4  # offset of the sum of squares; of a list, of the number of arguments that are not NULL
C_SECOND_WORDS = 5
C_DETAIL = 6  # digits that an average gains, or of the argument; which list; factors of a moment; which bits, how many
C_SAMPLE = 7  # 1: divides by n - 1
C_WIDTH = 8  # words of the result
C_UNIT = 9  # of sums in windows: binary digits of an argument behind the point; else 0
C_THIRD = 10  # offset of the sum of cubes; of a covariance, of the other argument's sum
C_FOURTH = 11  # offset of the sum of fourth powers
C_FRACTION = 12  # of a percentile, the bits of a double
C_DESCENDING = 13  # 1: a percentile of the values in descending order
RESULT = 14

GIVE_COUNT = 0
GIVE_SUM = 1  # two words
GIVE_AVERAGE = 2  # two words
GIVE_DOUBLE = 3  # the sum
GIVE_QUOTIENT = 4  # the average
GIVE_VARIANCE = 5
GIVE_ALL = 6
GIVE_ANY = 7
GIVE_LEAST = 8
GIVE_GREATEST = 9
GIVE_LIST = 10
GIVE_MOMENT = 11  # a covariance, a third or a fourth central moment
GIVE_BY_LEAST = 12  # the second word of the least pair
GIVE_BY_GREATEST = 13
GIVE_VALUE_AT = 14  # a percentile that is one of the values
GIVE_BETWEEN = 15  # a percentile between two values
GIVE_BITS = 16
GIVE_LAST_BY_LEAST = 17  # the greatest second word of the pairs with the least first word

VALUES = 0  # what a list is of: the values of an INDEX, these once, or the second words of PAIRS
DISTINCT_VALUES = 1
SECONDS = 2

BITS_AND = 0
BITS_OR = 1
BITS_XOR = 2

# Work space of moments: magnitudes of four sums, two products, and the moment with words below it
W_SUMS = (0, 64, 192, 320)
W_PRODUCT = 576
W_OTHER = 776
W_MOMENT = 976
WORK = 1184
