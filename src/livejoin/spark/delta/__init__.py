"""Delta tables as a sink of deltas and as a source of changes; needs deltalake (``pip install 'livejoin[delta]'``)."""

from typing import TYPE_CHECKING, Any

from livejoin.aside import imported
from livejoin.errors import PipelineError

try:
    import deltalake as _deltalake  # noqa: F401
except ImportError as missing:
    msg = "Delta tables need deltalake, which is not here: pip install 'livejoin[delta]'"
    raise PipelineError(msg) from missing

if TYPE_CHECKING:
    from livejoin.spark.delta.sink import DeltaSink
    from livejoin.spark.delta.source import read_delta, table_columns

# Spark's workers import the source alone.
_HOMES = {
    "DeltaSink": "livejoin.spark.delta.sink",
    **dict.fromkeys(("read_delta", "table_columns"), "livejoin.spark.delta.source"),
}

__all__ = ["DeltaSink", "read_delta", "table_columns"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        text = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(text)
    return getattr(imported(_HOMES[name]), name)
