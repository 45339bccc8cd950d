"""Change batches: from anything that carries rows to validated changes of one table.

A change is a row with a weight: +1 inserts it (``insert``, ``update_postimage``), -1 deletes it (``delete``,
``update_preimage``), so that a batch is a Z-relation and a table the sum of its batches. Changes by key say instead
what is to stand there for a key. Law: reading is lossless; a
value is taken exactly as it is or refused with its row and column, never rounded, truncated or guessed; what of it is
made another one first, where that is asked for, is in `livejoin.changes.coerce`.
"""

from livejoin.changes.batch import ByKey, ChangeBatch, Defaults, joined, read_changes
from livejoin.changes.debezium import BadMessage, TopicChanges, from_debezium, from_debezium_topics
from livejoin.changes.delta_feed import from_delta
from livejoin.changes.files import read_file
from livejoin.changes.intake import STRICT, Coerce, ExtraColumns, Intake

__all__ = [
    "STRICT",
    "BadMessage",
    "ByKey",
    "ChangeBatch",
    "Coerce",
    "Defaults",
    "ExtraColumns",
    "Intake",
    "TopicChanges",
    "from_debezium",
    "from_debezium_topics",
    "from_delta",
    "joined",
    "read_changes",
    "read_file",
]
