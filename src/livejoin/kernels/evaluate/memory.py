"""What a program runs on, as one parameter of the machine's helpers."""

from __future__ import annotations

from typing import NamedTuple

from livejoin.kernels.parameters import Plan, Texts, Words


class Memory(NamedTuple):
    """Pointers and numbers; made once a call.

    Args:
        program: The program, see `livejoin.kernels.evaluate.layout`.
        registers: The registers, and WORK_WORDS words of `livejoin.kernels.evaluate.decimals` behind them; changed.
        width: Words of a register: rows of a block.
        memos: See `livejoin.kernels.evaluate.memo`; changed.
        counters: COUNTERS words, and the lines that are asked for; changed.
        size: How many words these have.
        texts: The dictionaries.
    """

    program: Plan
    registers: Words
    width: int
    memos: Words
    counters: Words
    size: int
    texts: Texts
