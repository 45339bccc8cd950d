"""All blocks of a database, each once: what it does, what it reads, who reads it, what a change costs there."""

from __future__ import annotations

import html
import json
import textwrap
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

WIDTH = 100


@dataclass(frozen=True)
class BlockOutline:
    """A block of the graph.

    Args:
        number: The block's place in the order in which a commit goes through the blocks, from 1.
        kind: The kind of block, in a word or two.
        does: The block's work and state, in lines.
        reads: The inputs: names of tables, and numbers of blocks as ``#2``.
        read_by: Who reads it: numbers of blocks, and views as ``view v``.
        update: The cost of a change of an input; empty where that is one look-up or nothing.
        rows: Rows of its relation; a float beyond 64 bits.
        state_bytes: Bytes of its state.
    """

    number: int
    kind: str
    does: tuple[str, ...]
    reads: tuple[str, ...]
    read_by: tuple[str, ...]
    update: str
    rows: int | float
    state_bytes: int


@dataclass(frozen=True)
class GraphExplanation:
    """What a database maintains; ``print`` shows it as text, a notebook too.

    Args:
        blocks: The blocks in the order in which a commit goes through them.
        views: Names of the views.
    """

    blocks: tuple[BlockOutline, ...]
    views: tuple[str, ...]

    def text(self, width: int = WIDTH) -> str:
        """All of it as plain text, in lines of about ``width`` characters."""
        shared = sum(len(block.read_by) > 1 for block in self.blocks)
        size = sum(block.state_bytes for block in self.blocks)
        head = (
            f"{_many(len(self.views), 'view')} over {_many(len(self.blocks), 'block')}, {shared} of them shared; "
            f"{size:,} bytes of state beside the tables. A commit goes through the blocks in this order, once, and "
            "through those alone of which an input changed."
        )
        lines = [*textwrap.wrap(head, width)]
        for block in self.blocks:
            lines += ["", *_block(block, width)]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON values."""
        blocks = [asdict(block) for block in self.blocks]
        listed = [{key: list(v) if isinstance(v, tuple) else v for key, v in block.items()} for block in blocks]
        return {"views": list(self.views), "blocks": listed}

    def json(self) -> str:
        """All of it as a JSON text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<GraphExplanation: {_many(len(self.blocks), 'block')}; print() shows it all>"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return f"<pre>{html.escape(self.text())}</pre>"


def _block(block: BlockOutline, width: int) -> Iterator[str]:
    yield f"#{block.number} {block.kind}"
    fields = [
        ("reads", ", ".join(block.reads)),
        ("read by", ", ".join(block.read_by)),
        *(("does" if i == 0 else "", line) for i, line in enumerate(block.does)),
        ("update", block.update),
        ("state", f"{block.state_bytes:,} bytes, {block.rows:,} rows"),
    ]
    for name, value in fields:
        if value:
            yield from textwrap.wrap(value, width, initial_indent=f"   {name:<8} ", subsequent_indent=" " * 12)


def _many(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")
