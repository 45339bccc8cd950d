"""Debezium's envelopes as changes: a message for each row that a database inserted, updated or deleted.

An envelope has ``op``, the row ``before`` and the row ``after``. As in Debezium's own sinks, changes go by key: ``c``
(created), ``u`` (updated) and ``r`` (read for a snapshot) are upserts of ``after``, and ``d`` deletes the key of
``before``. A message without a value, Kafka's *tombstone*, follows a deletion and is skipped. Law: applied in order,
the changes leave the rows that the source has, also if messages come twice.

Debezium's transform ExtractNewRecordState leaves the row alone, without an envelope, and adds fields that begin with
two underscores: ``__op``, or ``__deleted`` where deletions are rewritten to rows. Such *flat* rows are read as well.
"""

from livejoin.changes.debezium.one_table import from_debezium
from livejoin.changes.debezium.topics import BadMessage, TopicChanges, from_debezium_topics
from livejoin.changes.debezium.values import PLACEHOLDER

__all__ = ["PLACEHOLDER", "BadMessage", "TopicChanges", "from_debezium", "from_debezium_topics"]
