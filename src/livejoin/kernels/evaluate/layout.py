"""Programs of the machine: what their words mean.

A *register* is a line of one word for each row of a block. A value is one register, or two for a decimal with more than
18 digits (low word, high word), and one more for its *status*: `VALUE`, `NULL`, or an error, whose low byte is an error
code and whose other bits are the number of the call that gave it. Registers of statuses are registers like others: two
values may share one, and register 0 holds zeros, the status of what is never NULL and never fails.

A program is int64 words: HEADER_WORDS words of header, the constants, three words each (register, word, 0), the
instructions, FIELDS words each, and behind them sorted words of sets, patterns and the keys of memos, by offsets.

The fields of an instruction are its code, ``TO`` (the register it writes), ``A``, ``B``, ``C`` (registers that it
reads), ``X``, ``Y`` (numbers), ``IN`` (the status of its arguments, merged), ``OUT`` (the status register it writes, if
it may fail) and ``CALL`` (the number that errors have). Wide values lie in two registers side by side, the low one
named. What else an operation reads is said beside it.
"""

from __future__ import annotations

BLOCK = 512
"""Rows that an instruction is run for at a time: a register is 4 KiB."""

CONSTANTS = 0  # number of constants
INSTRUCTIONS = 1  # number of instructions
REGISTERS = 2  # number of registers
HEADER_WORDS = 3

CONSTANT_WORDS = 2
FIELDS = 10
OP, TO, A, B, C, X, Y, IN, OUT, CALL = range(FIELDS)

# Statuses.
VALUE = 0
NULL = 1
OVERFLOW = 2
DIVISION_BY_ZERO = 3
REMAINDER_BY_ZERO = 4
CAST_OVERFLOW = 5
DECIMAL_OVERFLOW = 6
MALFORMED = 7  # a string that is no value of the type
BAD_DATE = 8
ZERO_INDEX = 9
TIME_OVERFLOW = 10
RESERVED = 11  # the BIGINT that stands for NULL
TOO_LONG = 12
PENDING = 255  # the memo does not have it yet
CODE_BITS = 8
CODE_MASK = 255

# Operations in loops of their own.
LOAD = 0  # column X, its status to OUT if that is not 0
LOAD_WIDE = 1  # as LOAD, a decimal with more than 18 digits
MERGE = 2  # statuses: A where it is not VALUE, else B
EQUAL = 3  # 0 or 1, A and B compared as words
NOT_EQUAL = 4
LESS = 5
LESS_EQUAL = 6
ADD = 7  # A and B, to X bits
SUBTRACT = 8
MULTIPLY = 9
PLAIN_ADD = 10  # what always fits
PLAIN_SUBTRACT = 11
PLAIN_MULTIPLY = 12
ADD_DOUBLE = 13
SUBTRACT_DOUBLE = 14
MULTIPLY_DOUBLE = 15
AND = 16  # A with status X, B with status Y
OR = 17
BOTH = 18  # A and B, which are values
EITHER = 19
NOT = 20
IS_NULL = 21  # of status A; an error stays one
IF_TRUE = 22  # where A with status X is true B with status Y, else C with status IN; the status to OUT
COALESCE = 23  # A with status X where it is not NULL, else B with status Y
KEY = 24  # a word whose order is that of the double A
EXTEND = 25  # a decimal of one word in two
PRODUCT = 26  # two decimals of at most 18 digits, to two words
IN_SET = 27  # whether A is among the Y sorted words from offset X on
STORE = 28  # A with status IN to line X of the output; Y: bits as below
STORE_WIDE = 29  # as STORE, the high word to line Y
COPY = 30
TRY = 31  # status A, where errors of call CALL are NULL
SAME = 32  # null-safe equality: A with status X, B with status Y
GREATEST = 33  # A with status X, B with status Y; C: kind of order
LEAST = 34
COMPARE = 35  # -1, 0, 1: A and B; X: kind of order
MEMO = 36  # memo X; A: offset of its keys' registers, C: how many; TO of two registers; B, Y: what to try first
HASH = 37  # of A with status X and the seed B with status Y, which it is where A is NULL; C: how, as below

# Operations of a row at a time, `livejoin.kernels.evaluate.unary`, with A, X and Y.
FIRST_UNARY = 64
NEGATE, ABSOLUTE, FIT, INTEGER_TO_DOUBLE, DOUBLE_TO_INTEGER, TO_BOOLEAN, DOUBLE_TO_BOOLEAN = range(64, 71)
NEGATE_DOUBLE, ABSOLUTE_DOUBLE, IS_NAN, FLOOR_DOUBLE, CEIL_DOUBLE, SIGN, SQUARE_ROOT, EXPONENTIAL = range(71, 79)
LOGARITHM, LOGARITHM_10 = range(79, 81)
YEAR, QUARTER, MONTH, DAY, DAY_OF_WEEK, WEEKDAY, DAY_OF_YEAR, WEEK, YEAR_OF_WEEK = range(81, 90)
HOUR, MINUTE, SECOND, OF_MINUTE, LAST_DAY, TRUNCATE_DATE, TRUNCATE_TIME, DATE_TO_TIMESTAMP = range(90, 98)
TIMESTAMP_TO_DATE, SECONDS_TO_TIMESTAMP, TIMESTAMP_TO_SECONDS, TIMESTAMP_TO_DOUBLE = range(98, 102)
DOUBLE_TO_TIMESTAMP, ROUND_INTEGER = range(102, 104)
TO_FLOAT, INTEGER_TO_FLOAT, BIT_COUNT = range(104, 107)

# Likewise of two words, `livejoin.kernels.evaluate.binary`.
FIRST_BINARY = 128
DIVIDE, REMAINDER, POSITIVE_REMAINDER, DIVIDE_DOUBLE, REMAINDER_DOUBLE, POSITIVE_REMAINDER_DOUBLE, POWER = range(
    128, 135
)
ADD_DAYS, ADD_MONTHS, DATE_DIFFERENCE, MAKE_DATE, ADD_MONTHS_TO_TIME, ADD_TIME, UNITS_BETWEEN = range(135, 142)
SHIFT_LEFT, SHIFT_RIGHT, SHIFT_RIGHT_UNSIGNED = range(142, 145)  # A by B, of X bits

# Likewise of decimals of two words each, `livejoin.kernels.evaluate.decimals`. X: the scales of A, of B and of the
# result and its precision, a byte each from the low one; Y: for RESCALE the way to round and, shifted by 8, the digits
# behind the point that stay; for DECIMAL_TO_INTEGER the bits.
FIRST_DECIMAL = 160
ADD_DECIMAL, SUBTRACT_DECIMAL, MULTIPLY_DECIMAL, DIVIDE_DECIMAL, INTEGRAL_DIVIDE_DECIMAL, REMAINDER_DECIMAL = range(
    160, 166
)
POSITIVE_REMAINDER_DECIMAL, RESCALE, NEGATE_DECIMAL, ABSOLUTE_DECIMAL, DECIMAL_TO_INTEGER = range(166, 171)

# Kinds of order.
BY_WORD, BY_DOUBLE, BY_TEXT, BY_DECIMAL = range(4)

# What HASH takes: numbers of 32 bits and of 64, floats, texts, decimals of two words; HASH_64 is added for xxHash.
HASH_INT, HASH_LONG, HASH_FLOAT, HASH_TEXT, HASH_WIDE = range(5)
HASH_64 = 8

# Units of TRUNCATE_DATE and TRUNCATE_TIME.
UNIT_YEAR, UNIT_QUARTER, UNIT_MONTH, UNIT_WEEK, UNIT_DAY, UNIT_MICROSECONDS = range(6)

# Ways to round.
HALF_UP, HALF_EVEN, DOWN, FLOOR, CEIL = range(5)

# What MEMO tries first (Y), with B digits or scale, or the offset of a pattern.
NOTHING, TRY_ROUND, TRY_ROUND_EVEN, TRY_TO_DECIMAL, TRY_TO_DOUBLE, TRY_LIKE = range(6)

# Bits of STORE's Y.
REFUSE_RESERVED = 1

# Memos: one int64 buffer. MEMO_HEADER words for each: where its lines are, lines (a power of two) less one, lines in
# use, words of keys. A line: state, keys, low word, high word, status.
MEMO_AT, MEMO_MASK, MEMO_USED, MEMO_KEYS = range(4)
MEMO_HEADER = 4
LINE_EXTRA = 4
EMPTY, ASKED, KNOWN = range(3)

# The counters that a run changes: lines asked for, memos that are full, values that failed, decimals for the
# dictionary; then the lines asked for, memo and place each.
ASKED_LINES, FULL, FAILURES, WIDE_VALUES = range(4)
COUNTERS = 4
