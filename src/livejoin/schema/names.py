"""Names as SQL writes them."""

from __future__ import annotations


def backticked(name: str) -> str:
    """A name in backticks, as Spark quotes it, whatever is in it.

    >>> backticked("a b"), backticked("it`s")
    ('`a b`', '`it``s`')
    """
    return "`" + name.replace("`", "``") + "`"
