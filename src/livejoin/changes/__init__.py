"""Change batches: from anything that carries rows to validated changes of one table.

A change is a row with a weight: +1 inserts it (``insert``, ``update_postimage``), -1 deletes it (``delete``,
``update_preimage``). So a batch is a Z-relation, and a table is the sum of its batches. A change by key instead says
which row shall stand there for a key. Law: reading is lossless. A value is taken exactly, or refused with its row and
column; it is never rounded, truncated or guessed.
"""

from livejoin.changes.batch import ByKey, ChangeBatch, read_changes
from livejoin.changes.debezium import from_debezium
from livejoin.changes.delta_feed import from_delta
from livejoin.changes.files import read_file

__all__ = ["ByKey", "ChangeBatch", "from_debezium", "from_delta", "read_changes", "read_file"]
