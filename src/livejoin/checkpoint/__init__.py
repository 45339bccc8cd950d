"""A database that survives its process: a log of batches, and now and then a snapshot of the tables.

Nothing here knows Spark. Any source that numbers its batches will do.
"""

from typing import TYPE_CHECKING, Any

from livejoin.aside import imported

if TYPE_CHECKING:
    from livejoin.checkpoint.engine import read_checkpoint

__all__ = ["read_checkpoint"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    # Spark's workers import small modules of this package, which need no engine.
    return getattr(imported("livejoin.checkpoint.engine"), name)
