"""Words whose hashes are known beforehand: the kernels' hash of a single word, run backwards."""

from __future__ import annotations

_MULTIPLIER = 0x9E3779B97F4A7C15
_SEED = 0x2545F4914F6CDD1D
_MODULUS = 1 << 64
_INVERSE = pow(_MULTIPLIER, -1, _MODULUS)


def _unfold(z: int) -> int:
    """The inverse of ``z ^ (z >> 32)`` on 64 bits is the function itself."""
    return z ^ (z >> 32)


def words_with_hash(hash32: int, count: int) -> list[int]:
    """Distinct words that, as keys of one word, all have the given 32-bit hash."""
    words = []
    for low in range(count):
        state = ((hash32 << 32) | low) * _INVERSE % _MODULUS
        word = _unfold(_unfold(state) * _INVERSE % _MODULUS) ^ _SEED
        words.append(word - _MODULUS if word >> 63 else word)
    return words
