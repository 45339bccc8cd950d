"""What the parameters of kernels are: the names that their signatures use.

To the type checker most of them are `Any`: a helper is compiled for what it is called with, a pointer into an arena or
an array, and without the compiler everything is an array. What a name promises is said here. All words are int64, and
all arrays lie in C order. The caller owns every buffer; a kernel keeps no reference to one after it has returned.
"""

from __future__ import annotations

from typing import Any, TypeAlias

Arena: TypeAlias = Any
"""The words of an arena as `livejoin.kernels.memory.arena.words` views them; read and changed in place."""

Plan: TypeAlias = Any
"""The words of a plan: offsets and lists that a compiler of plans laid out; never changed."""

Delta: TypeAlias = Any
"""The words of a batch's delta, `livejoin.kernels.join.batch_delta`, beside the arena; changed in place."""

Cursor: TypeAlias = Any
"""The words where an interrupted enumeration stands; changed in place."""

Output: TypeAlias = Any
"""Where results go: a buffer of lines by places, as an array or as the words of one."""

Segments: TypeAlias = Any
"""The words of a buffer of RUN_FIELDS lines: where each segment of an output begins, its version, its sign."""

Events: TypeAlias = Any
"""Changes of base rows, a column each, as an array of EVENT_FIELDS lines or as its words; never changed."""

ArenaArray: TypeAlias = Any
"""An arena as its owner has it: int64 of one dimension; its owner makes it larger when a kernel asks for space."""

Line: TypeAlias = Any
"""int64 (row ids of changes and cells: int32) of one dimension: one number a change, a row or a place."""

Matrix: TypeAlias = Any
"""int64 of two dimensions: a line for each column or field, a place for each change or row."""

Values: TypeAlias = Any
"""int64, a line for each column one behind the other: the word of change i in column k stands at ``k * n + i``."""

Addresses: TypeAlias = Any
"""int64 of one dimension: where the buffers of a state lie, `livejoin.kernels.memory.addresses`; never changed."""

Header: TypeAlias = Any
"""int64 of ROWS_HEADER words: counters and the free list of a table; changed in place."""

RowWords: TypeAlias = Any
"""int64 of one dimension: the rows of a table, ``stride`` words each; changed in place."""

Slots: TypeAlias = Any
"""int64 of ``1 + (1 << log)`` words: a hash index over rows, its log2 size first; changed in place."""

Queue: TypeAlias = Any
"""int64 of one dimension: the ring or the heap of a window; changed in place."""

Window: TypeAlias = Any
"""int64 of three words: what the window of a table is, see `livejoin.kernels.relation.range_window`."""

Offsets: TypeAlias = Any
"""int64 of one dimension: offsets of words in a row, their number first."""

Touched: TypeAlias = Any
"""int64, some words for each place one behind the other: what the changed rows were before; filled."""

RowEvents: TypeAlias = Any
"""int64, three words for each event one behind the other: the row, its weight and the change; filled."""

Changed: TypeAlias = Any
"""Changes as a tuple of three arrays: int64 of shape (words, n), what each adds to a multiplicity, its version."""

Texts: TypeAlias = Any
"""The dictionaries of strings and wide decimals, five arrays or pointers: `livejoin.kernels.values.dictionary_view`."""

Sums: TypeAlias = Any
"""int64 of as many words as the arena has in use: prefix sums of blocks, `livejoin.kernels.join.prefix_sums`."""

Words: TypeAlias = Any
"""Words of some other buffer, as an array or as a pointer: what the function's docstring says."""
