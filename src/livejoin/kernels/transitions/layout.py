"""Where things lie in the plan, the arenas and the arrays of a transition system.

Two arenas: one has the records of the base rows, the other one, *live*, what is made of them. In live there is

- for each dynamic atom a directory of its *keys*, the rows that matter, numbered through all atoms;
- a directory of *instances*: the values of the shared variables that some row has which matters (one, without shared
  variables), each with the state that it is in;
- a directory of *cells*: how often the row of a key is there for an instance.

What the static tables are joined to is a `Joined`: its rows, each with one key of every dynamic atom, and the *units*,
which are what results show of them. A row is alive in a state that has all of its keys, and a unit if one of its rows
is. States, transitions and what they give are a `Known`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from livejoin.kernels.join import layout as q
from livejoin.kernels.memory import layout as k

# Plan header, behind that of all joins
P_ATOMS = q.PLAN_HEADER  # dynamic atoms
P_ATOM_LIST = P_ATOMS + 1
P_SHARED = P_ATOM_LIST + 1  # shared variables
P_HEAD_LIST = P_SHARED + 1  # for each head column: whether it is a shared variable, and which line or key word it is
P_IDENTITY = P_HEAD_LIST + 1  # the numbers from 0 on
P_HUB = P_IDENTITY + 1  # position of the table that the static tables are, and of its atom's words in its records
P_HUB_OWN = P_HUB + 1
P_HUB_BIT = P_HUB_OWN + 1
P_CELLS = P_HUB_BIT + 1  # directories
P_INSTANCES = P_CELLS + 1
TRANSITIONS_HEADER = P_INSTANCES + 1

# Plan: dynamic atom
A_BIT = 0
A_OWN = 1  # offset of its words in a record
A_WIDTH = 2  # variables of its keys
A_PLACES = 3  # where a record has them
A_SHARED = 4  # where a record has the shared variables
A_KEYS = 5  # directory of its keys
ATOM = 6

# A record's words of an atom
R_TIMES = 0
R_CELL = 1  # not of the hub; 0: it does not matter

# Live arena: header words beside those of all joins
H_INSTANCES = 7  # instances that the version touches
H_CELLS = 8  # cells that it touches
H_INSTANCE = 9  # the instance at work
H_PART = 20  # what is being written of it: the list of its transition, or the rows of touched cells
H_PLACE = 21
H_COPIES = 22
H_LINK = 23  # the touched cell at work, plus one
H_TOGGLED = 25  # keys of the change that has no transition yet
H_DOUBLED = 26  # whether a touched cell is there more than once
SCRATCH = k.ARENA_HEADER

# Phases of a version, behind FRESH
APPLY = 1
FIND = 2
GO = 3
COME = 4
END = 5

# What the kernels return besides what all do
MISS = 8  # there is no transition yet, or nothing is known of a state's result

# Entries
K_ID = 0
K_KEY = 1
I_STATE = 0
I_CELLS = 1
I_MARK = 2  # its place among those that are touched, plus one
I_HEAD = 3  # the first of its touched cells, plus one
I_KEY = 4
C_TIMES = 0
C_BEFORE = 1
C_MARK = 2
C_KEY = 3  # instance, key
CELL = 5

# Touched cells and instances of a version
U_CELL = 0
U_NEXT = 1
TOUCHED = 2
F_INSTANCE = 0
F_NEXT = 1
F_GO_AT = 2
F_GO = 3
F_COME_AT = 4
F_COME = 5
FOUND = 6

# Cursor of a scan
SCAN_SLOT = 0
SCAN_PLACE = 1
SCAN_COPIES = 2
SCAN_STATE = 3  # whose result is not known
SCAN = 4

# Known: counts
N_STATES = 0  # numbers of states given out, the empty state 0 among them
N_FREE = 1  # of them free again
N_TRANSITIONS = 2
N_CHANGES = 3  # sets of keys that are changes of their own
N_CHANGE_KEYS = 4
N_UNITS = 5  # of all lists
N_RESULTS = 6  # units of the results of states
N_CLOCK = 7
N_STAMP = 8
N_HITS = 9
N_MISSES = 10
COUNTS = 11

# Known: a state; its set follows, a bit a key
S_HASH = 0
S_REFS = 1  # instances that are in it
S_SIZE = 2  # units alive; -1: not known
IS_FREE = -2  # the size of a number that is no state
S_AT = 3  # its result, -1: not there
STATE = 4

# Known: a transition
T_HASH = 0
T_FROM = 1
T_CHANGE = 2  # a key, or the number of keys plus the number of a set of them
T_NEXT = 3
T_GO_AT = 4
T_GO = 5  # units that go; -1: not known
T_COME_AT = 6
T_COME = 7
T_USED = 8
TRANSITION = 9

# Known: a set of keys that is a change
E_HASH = 0
E_AT = 1
E_LENGTH = 2
CHANGE = 3


class Joined(NamedTuple):
    """What the static tables are joined to.

    Attributes:
        row_keys: int32: the keys of row r, one of each atom, from ``atoms * r`` on.
        key_at: int64: where the rows of a key begin in ``key_rows``.
        key_rows: int32.
        unit_of: int32: the unit of a row.
        unit_at: int64: where the rows of a unit begin in ``unit_rows``.
        unit_rows: int32.
        weights: int64: how often a row is there; empty if each is there once, or it does not matter.
        shown: int64 of shape (lines, units): what results show.
    """

    row_keys: Any
    key_at: Any
    key_rows: Any
    unit_of: Any
    unit_at: Any
    unit_rows: Any
    weights: Any
    shown: Any


class Known(NamedTuple):
    """States and transitions so far; changed in place.

    Attributes:
        counts: int64, COUNTS words.
        states: int64, STATE words and the set of each state.
        state_slots: int32: open addressing by the hash, a number plus one.
        transitions: int64, TRANSITION words each.
        transition_slots: As of the states.
        changes: int64, CHANGE words each.
        change_slots: As of the states.
        change_keys: int32: the keys of changes.
        units: int32: the units that transitions let go and come.
        results: int32: the units of states.
        marks: int64: a stamp for each key.
        seen: int64: a stamp for each unit.
    """

    counts: Any
    states: Any
    state_slots: Any
    transitions: Any
    transition_slots: Any
    changes: Any
    change_slots: Any
    change_keys: Any
    units: Any
    results: Any
    marks: Any
    seen: Any
