"""Kafka as a source of changes and as a sink of deltas; needs confluent-kafka (``pip install 'livejoin[kafka]'``)."""

from typing import TYPE_CHECKING, Any

from livejoin.aside import imported
from livejoin.errors import PipelineError

try:
    import confluent_kafka as _confluent_kafka  # noqa: F401
except ImportError as missing:
    msg = "Kafka needs confluent-kafka, which is not here: pip install 'livejoin[kafka]'"
    raise PipelineError(msg) from missing

if TYPE_CHECKING:
    from livejoin.spark.kafka.messages import read_kafka
    from livejoin.spark.kafka.sink import KafkaSink

# Spark's workers import the source alone.
_HOMES = {"KafkaSink": "livejoin.spark.kafka.sink", "read_kafka": "livejoin.spark.kafka.messages"}

__all__ = ["KafkaSink", "read_kafka"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        text = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(text)
    return getattr(imported(_HOMES[name]), name)
