"""What joins of all families have in the same place: header words, records of base rows, plans, events, segments.

record    the values of a base row that the query uses and the factors that annotate it, once for all atoms over
          the table; then for each of these atoms what its family keeps of the row
"""

from __future__ import annotations

# Arena header
H_OVERFLOW = 0  # -1: what the current call has computed does not fit its words; no reference is 0
H_DUPLICATES = 3  # registered atom rows with a multiplicity other than one
H_EVENT = 4  # cursor of an interrupted `maintain`: event, atom of the event's table, phase
H_ATOM = 5
H_PHASE = 6
H_OUT = 10  # rows and segments written to the output buffers by the current call
H_SEGMENTS = 11
H_REGISTERED = 12  # atom rows registered
H_PROPAGATED = 13  # rows that entered or left some V_s, in total
H_TOUCHED = 14  # counters changed by P-UPDATE, in total
H_RUNS = 15  # segments that the output buffers hold
H_PROBES = 16  # look-ups of keys in directories, in total
H_WEIGHED = 18  # changes of a multiplicity that stayed positive, in total
H_STOPPED = 19  # rows that entered or left some V_s without a change of V_p, in total
H_VERSION = 24  # version of the current event

FRESH = 0  # phase of a change that has not begun

# Table header: chunks of records
T_CHUNKS = 0  # reference of the chunk table
T_COUNT = 1  # chunks allocated
T_CLASS = 2  # size class of the chunk table
TABLE = 3
CHUNK_BITS = 8
CHUNK_ROWS = 1 << CHUNK_BITS

# Plan header; what a family has of its own follows
P_NODES = 0
P_FIRST_NODE = 1
P_TABLES = 2
P_FIRST_TABLE = 3
P_HEAD = 4
P_FULL = 5  # the program of full enumeration
P_POSTORDER = 6  # node offsets, of a join tree those of the connex nodes, children first
P_MODE = 7  # BAG, SET or RING
P_WORDS = 8  # words of an annotation
P_COMPONENTS = 9  # its components: number, list of their widths in words (1 or 2)
P_WIDTHS = 10
PLAN_HEADER = 11

BAG = 0  # results with multiplicities
SET = 1  # distinct results
RING = 2  # distinct results with annotations

# Plan: table descriptor
PT_HEADER = 0  # reference of the table header in the arena
PT_STRIDE = 1
PT_ATOMS = 2
PT_ATOM_LIST = 3  # node offsets
PT_VALUES = 4
PT_VALUE_LIST = 5  # columns of the base table, by position of the value in the record
PLAN_TABLE = 6

# Events: rows of a (EVENT_FIELDS, n) matrix
V_TABLE = 0
V_ROW = 1  # row id in the base table
V_WEIGHT = 2
V_MASK = 3  # atoms whose predicate holds
V_VERSION = 4
EVENT_FIELDS = 5
V_WORK = 5  # in a line more, if it is asked for: the work that the change made (`livejoin.kernels.join.work`)

# Segments of the output: rows of a (RUN_FIELDS, n) matrix
R_START = 0  # first output row of a segment of equal version and sign
R_VERSION = 1
R_SIGN = 2
RUN_FIELDS = 3
