"""New codes for the entries of the dictionaries, where most of those given out are free.

Law: values are equal under the new words iff they are under the old ones, and the new codes are dense. A code never
changes while rows hold it (`livejoin.state.dictionary`), so that all words of a database change together or none does.
"""

from __future__ import annotations

from dataclasses import dataclass

from livejoin.schema import SqlType
from livejoin.state.codec import Codec
from livejoin.words import NULL_CODE, WIDE_BASE, Words


@dataclass(frozen=True, eq=False)
class Recoding:
    """A codec with dense codes, and the way from the words of another one.

    Args:
        codec: The new codec.
        strings: The new code of each string's old one, -1 where there was none.
        decimals: Likewise, of wide decimals.
    """

    codec: Codec
    strings: Words
    decimals: Words

    def words(self, type: SqlType, words: Words) -> Words:
        """The new words of values; other types keep theirs.

        Args:
            type: The type of the values.
            words: The words of the values, each of an existing entry, or of none.
        """
        match type.word_kind:
            case "string":
                coded, base, codes = words != NULL_CODE, 0, self.strings
            case "decimal":
                coded, base, codes = (words >= WIDE_BASE) & (words != NULL_CODE), WIDE_BASE, self.decimals
            case _:
                return words
        found = words.copy()
        found[coded] = codes[words[coded] - base] + base
        return found


def recoded(codec: Codec) -> Recoding:
    """New codes for all entries of a codec, which is not changed. Cost: O(codes + bytes)."""
    strings, new_strings = codec._strings.packed()
    decimals, new_decimals = codec._decimals.packed()
    return Recoding(Codec.of(strings, decimals, codec.budget), new_strings, new_decimals)


def is_scattered(codec: Codec) -> bool:
    """Whether the codes in use are so few of those given out that new ones would take a quarter of the places."""
    return codec._strings.is_scattered or codec._decimals.is_scattered
