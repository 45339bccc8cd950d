"""The code of a program while it is written: registers, constants and instructions.

Each register is written once, so that equal instructions are one. At the end registers are given out anew, each again
after the last instruction that reads it: the fewer there are, the more of a block's stay in the cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from livejoin.kernels.evaluate import layout as k
from livejoin.words import Words

ZERO = 0
"""The register of zeros, and the status of what is always a value. Register 1 is zero too, as its high word."""

# Which fields of an instruction name registers that it reads, by its code; those of one status or of two words apart.
_STATUS_PAIRS = (k.AND, k.OR, k.IF_TRUE, k.COALESCE, k.SAME, k.GREATEST, k.LEAST, k.HASH)
_NO_REGISTERS = (k.LOAD, k.LOAD_WIDE)


@dataclass(frozen=True)
class Value:
    """The place of a value in the registers.

    Args:
        at: The value's register, or the low one of two.
        status: The register of its status.
        fails: Whether the status may be an error.
        wide: Whether it has two registers.
    """

    at: int
    status: int = ZERO
    fails: bool = False
    wide: bool = False


class Code:
    """Registers, constants and instructions; mutable."""

    def __init__(self) -> None:
        self._registers = 2
        self._sizes: dict[int, int] = {}
        self._constants: dict[tuple[int, ...], int] = {(0,): ZERO, (0, 0): ZERO}
        self._texts: dict[str | bytes, int] = {}
        self._instructions: list[list[int]] = []
        self._found: dict[tuple[int, ...], tuple[int, int]] = {}
        self._tail: list[int] = []
        self._text_sets: list[tuple[int, tuple[str | bytes, ...]]] = []

    def constant(self, *words: int) -> int:
        """The register of a constant of one word or two."""
        if words not in self._constants:
            self._constants[words] = self._take(len(words))
        return self._constants[words]

    def text(self, value: str | bytes) -> int:
        """The register of the code of a string or of bytes, which is filled in when the program is bound."""
        if value not in self._texts:
            self._texts[value] = self._take(1)
        return self._texts[value]

    def set_of(self, words: Sequence[int]) -> int:
        """Where sorted words lie behind the instructions."""
        self._tail += sorted(words)
        return len(self._tail) - len(words)

    def set_of_texts(self, values: tuple[str | bytes, ...]) -> int:
        """Likewise of the codes of strings, which are filled in when the program is bound."""
        at = self.set_of([0] * len(values))
        self._text_sets.append((at, values))
        return at

    def keys(self, registers: Sequence[int]) -> int:
        """Where the registers lie that a memo is looked up by."""
        self._tail += registers
        return len(self._tail) - len(registers)

    def pattern(self, words: Sequence[int]) -> int:
        """Where the words of a pattern lie (`livejoin.kernels.evaluate.like`)."""
        self._tail += words
        return len(self._tail) - len(words)

    def emit(  # noqa: PLR0913, PLR0917  # the fields of an instruction
        self,
        op: int,
        a: int = 0,
        b: int = 0,
        c: int = 0,
        x: int = 0,
        y: int = 0,
        status: int = 0,
        call: int = 0,
        words: int = 1,
        says: bool = False,
    ) -> tuple[int, int]:
        """Add an instruction, if it is not there.

        Args:
            op: The code of the instruction.
            a, b, c, x, y, status, call: The fields of the instruction.
            words: Registers of the result.
            says: Whether it writes a status of its own.

        Returns:
            The register of the result, and that of its own status, else `ZERO`.
        """
        key = (op, a, b, c, x, y, status, call)
        if key not in self._found:
            to = self._take(words)
            out = self._take(1) if says else ZERO
            self._instructions.append([op, to, a, b, c, x, y, status, out, call, words])
            self._found[key] = (to, out)
        return self._found[key]

    def store(self, value: Value, line: int, high_line: int, lines: int, flags: int, call: int) -> None:
        """Add an instruction that gives a result out."""
        op, y = (k.STORE_WIDE, high_line) if value.wide else (k.STORE, flags)
        self._instructions.append([op, 0, value.at, 0, lines, line, y, value.status, 0, call, 0])

    def merge(self, first: int, second: int) -> int:
        """The status of what looks at two values in this order."""
        if first in (ZERO, second):
            return second
        return first if second == ZERO else self.emit(k.MERGE, first, second)[0]

    def _take(self, count: int) -> int:
        self._sizes[self._registers] = count
        self._registers += count
        return self._registers - count

    def finish(self) -> Finished:
        """The program's words."""
        constants = [(0, 0), (1, 0)]
        constants += [(at + i, word) for words, at in self._constants.items() for i, word in enumerate(words) if at]
        at_texts = len(constants)
        constants += [(at, 0) for at in self._texts.values()]
        kept = len(constants)
        places = {register: place for place, (register, _) in enumerate(constants)}
        registers = self._place(places, kept)
        begin = k.HEADER_WORDS + k.CONSTANT_WORDS * len(constants)
        tail = begin + k.FIELDS * len(self._instructions)
        words = [len(constants), len(self._instructions), registers]
        for register, word in constants:
            words += [places[register], word]
        for instruction in self._instructions:
            fields = instruction[: k.FIELDS]
            for field in [k.TO, k.OUT, *_reads(instruction)]:
                fields[field] = places[fields[field]]
            if fields[k.OP] == k.IN_SET:
                fields[k.X] += tail
            elif fields[k.OP] == k.MEMO:
                at = fields[k.A]
                self._tail[at : at + fields[k.C]] = [places[r] for r in self._tail[at : at + fields[k.C]]]
                fields[k.A] = at + tail
                if fields[k.Y] == k.TRY_LIKE:
                    fields[k.B] += tail
            words += fields
        texts = [(k.HEADER_WORDS + k.CONSTANT_WORDS * (at_texts + i) + 1, text) for i, text in enumerate(self._texts)]
        sets = [(tail + at, values) for at, values in self._text_sets]
        return Finished(np.array([*words, *self._tail], np.int64), registers, tuple(texts), tuple(sets))

    def _place(self, places: dict[int, int], kept: int) -> int:
        """Give each register that an instruction writes a place; how many there are."""
        last: dict[int, int] = {}
        for i, instruction in enumerate(self._instructions):
            for register in self._read(instruction):
                last[register] = i
        free: dict[int, list[int]] = {1: [], 2: []}
        count = kept
        for i, instruction in enumerate(self._instructions):
            written = [(instruction[k.TO], instruction[-1]), (instruction[k.OUT], 1)]
            for register, size in written:
                if register > 1 and size and register not in places:
                    if free[size]:
                        at = free[size].pop()
                    else:
                        at, count = count, count + size
                    for offset in range(size):
                        places[register + offset] = at + offset
            for register in {*self._read(instruction), *(w for w, size in written if size)}:
                if register in self._sizes and places[register] >= kept and last.get(register, -1) <= i:
                    free[self._sizes[register]].append(places[register])
                    last[register] = len(self._instructions)  # given back once
        return count

    def _read(self, instruction: list[int]) -> list[int]:
        """The registers that an instruction reads, the low ones of two words."""
        registers = [instruction[field] for field in _reads(instruction)]
        if instruction[k.OP] == k.MEMO:
            registers += self._tail[instruction[k.A] : instruction[k.A] + instruction[k.C]]
        return [register for register in registers if register > 1]


def _reads(instruction: list[int]) -> list[int]:
    """The fields that name registers which an instruction reads."""
    op = instruction[k.OP]
    if op in _NO_REGISTERS:
        return []
    if op == k.MEMO:
        return [k.IN]
    fields = [k.A, k.B, k.IN]
    if op in _STATUS_PAIRS:
        fields += [k.X, k.Y]
    if op == k.IF_TRUE:
        fields.append(k.C)
    return fields


@dataclass(frozen=True, eq=False)
class Finished:
    """A program as the machine runs it.

    Args:
        words: The program.
        registers: How many it has.
        texts: Where codes of strings belong.
        text_sets: Where sorted codes of strings belong.
    """

    words: Words
    registers: int
    texts: tuple[tuple[int, str | bytes], ...]
    text_sets: tuple[tuple[int, tuple[str | bytes, ...]], ...]
