"""A check that sqlglot is there as Python: livejoin extends its parser, and what is compiled cannot be extended."""

from __future__ import annotations


def refuse_compiled(file: str | None) -> None:
    """Refuse sqlglot's compiled form, which the package sqlglotc lays over it.

    Args:
        file: Where the module of a parser of sqlglot lies.

    Raises:
        ImportError: The file is a compiled one.
    """
    if file is not None and not file.endswith((".py", ".pyc")):
        msg = (
            "livejoin extends sqlglot's parser, which it cannot where sqlglot is compiled (the package sqlglotc, "
            "'sqlglot[c]'): pip uninstall sqlglotc, or install livejoin in an environment of its own"
        )
        raise ImportError(msg)
