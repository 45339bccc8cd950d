"""What a staging of changes of a base table is told and tells.

Changes are staged as an atomic set (`livejoin.kernels.relation.stage_commit`) or one after the other
(`livejoin.kernels.relation.stage_changes`): they are applied at once, and `livejoin.kernels.relation.settling` ends
them. Law: staging, then `undo`, then `finish_commit` leaves the table as it was.
"""

AHEAD = 32
"""Changes whose rows are read ahead together: as many as memory answers at once, or some more."""

# How far a staging has come: a caller begins with zeros, and calls the kernel until it says something else than MORE.
G_CHANGE = 0  # changes done; of an atomic set of one kind, and counted on, of the other
G_COUNT = 1  # rows touched
G_MADE = 2  # events made; of an atomic set where the window began
G_PLACE = 3  # touched rows gone through where an atomic set, or a version, ends
G_SEEN = 4  # what was read ahead, for nobody
G_WAITING = 5  # deletions of an atomic set whose rows have yet to come
G_HASHES = 6  # the hashes of the changes, AHEAD at most, that are looked up next
G_NEXT = G_HASHES + AHEAD  # their places
PROGRESS = G_NEXT + AHEAD

# What a change is: its weight, and how it finds the row that it takes out.
INSERT = 1
DELETE = -1  # of the row as it is given
UPSERT = 2  # of a row in the place of the one with its key, if there is one
DELETE_BY_KEY = -2  # of the row with the key
FORGET_BY_KEY = -3  # the same, and it is no conflict if there is none
DROP_BY_KEY = -4  # the same, and it is a conflict that is skipped and counted if there is none

UNTOUCHED = -1  # in the place of the id of a touched row, where there is none yet

AT_ONCE = 1 << 16
"""Changes that a kernel stages in one call: some ten milliseconds, after which Python looks for signals."""
