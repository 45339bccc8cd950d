"""The string table against a plain dict, after every step."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from livejoin.errors import CapacityError, StateError
from livejoin.kernels.values import strings as kernels
from livejoin.state import dictionary as module
from livejoin.state.dictionary import ABSENT, ByteDictionary, KnownStrings

pytestmark = pytest.mark.nojit


class DictOracle:
    """The same law in plain Python; which code a new string gets is left to the table."""

    def __init__(self) -> None:
        self.codes: dict[bytes, int] = {}

    def learn(self, strings: list[bytes], codes: list[int]) -> None:
        for string, code in zip(strings, codes, strict=True):
            if string not in self.codes:
                assert code not in self.codes.values()
                self.codes[string] = code
            assert self.codes[string] == code


def layout(strings: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.cumsum([0, *map(len, strings)], dtype=np.int64)
    return np.frombuffer(b"".join(strings), np.uint8), offsets


def unpack(data: np.ndarray, offsets: np.ndarray) -> list[bytes]:
    raw = data.tobytes()
    return [raw[a:b] for a, b in pairwise(offsets)]


# Few letters and all lengths around the 4- and 8-byte words of the hash: many equal, many nearly equal strings.
some_bytes = st.lists(st.sampled_from(b"ab\x00\xff"), max_size=20).map(bytes)
batches = st.lists(some_bytes, max_size=30)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(batches, st.booleans(), st.randoms(use_true_random=False)), max_size=5))
def test_equals_a_dict_after_every_step(steps):
    table, oracle = ByteDictionary(), DictOracle()
    for strings, drop, random in steps:
        codes = table.encode(*layout(strings)).tolist()
        oracle.learn(strings, codes)
        table._check()
        if drop:
            kept = [s for s in oracle.codes if random.random() < 0.5]
            table.retain(np.array([oracle.codes[s] for s in kept], np.int64))
            oracle.codes = {s: oracle.codes[s] for s in kept}
            table._check()
        assert len(table) == len(oracle.codes)
        known = list(oracle.codes)
        assert unpack(*table.decode(np.array([oracle.codes[s] for s in known], np.int64))) == known
        assert table.encode(*layout(known)).tolist() == [oracle.codes[s] for s in known]
        table._check()
        table = ByteDictionary.from_arrays(table.arrays())
        table._check()


@pytest.mark.parametrize("length", [*range(1, 26)])
def test_one_changed_byte_changes_the_code(length):
    base = bytes(range(1, length + 1))
    changed = [base[:i] + b"\xf0" + base[i + 1 :] for i in range(length)]
    table = ByteDictionary()
    strings = [base, *changed, base[:-1], base + b"\x00"]
    assert table.encode(*layout(strings)).tolist() == list(range(len(strings)))
    table._check()


def test_codes_are_dense_and_dropped_codes_are_reused():
    table = ByteDictionary()
    assert table.encode(*layout([b"a", b"b", b"c", b"d"])).tolist() == [0, 1, 2, 3]
    table.retain(np.array([3, 1, 3]))
    assert len(table) == 2
    assert table.encode(*layout([b"e", b"b", b"f", b"g", b"d"])).tolist() == [0, 1, 2, 4, 3]
    table._check()


def test_retain_gives_memory_back():
    table = ByteDictionary()
    table.encode(*layout([b"%08d" % i for i in range(2000)]))
    before = table.nbytes
    table.retain(np.arange(10))
    assert len(table) == 10
    assert table.nbytes < before / 20
    assert table.live_bytes == 10 * (8 + 8 + 4 + 8)
    table.retain(np.empty(0, np.int64))
    assert len(table) == 0
    table._check()


def test_rows_that_are_not_valid_are_not_entered():
    table = ByteDictionary()
    codes = table.encode(*layout([b"a", b"hidden", b"b"]), np.array([True, False, True]))
    assert (codes[0], codes[2]) == (0, 1)
    assert len(table) == 2


def test_growth_under_many_and_long_strings():
    strings = [b"x" * (i % 97) + b"%d" % i for i in range(700)]
    table = ByteDictionary()
    assert table.encode(*layout(strings)).tolist() == list(range(700))
    assert table.encode(*layout(strings[::-1])).tolist() == list(range(699, -1, -1))
    table._check()
    assert unpack(*table.decode(np.arange(700))) == strings


def test_strings_of_a_large_table_are_read_ahead():
    strings = [b"%d" % i * (1 + i % 5) for i in range(kernels.BEYOND // 2 + 1)] + [b""]
    table = ByteDictionary()
    codes = table.encode(*layout(strings))
    assert table._slots.size > kernels.BEYOND
    assert sorted(codes.tolist()) == list(range(len(strings)))
    valid = np.arange(len(strings)) % 3 != 0
    again = table.encode(*layout(strings[::-1]), valid[::-1])[::-1]
    assert again[valid].tolist() == codes[valid].tolist()
    table._check()


def test_the_kernel_stops_in_front_of_the_row_without_space():
    header = np.zeros(kernels.HEADER_WORDS, np.int64)
    header[kernels.NEXT_FREE] = -1
    heap, starts, lengths = np.zeros(3, np.uint8), np.zeros(8, np.int64), np.zeros(8, np.int32)
    out = np.full(4, -7)
    data, offsets = layout([b"ab", b"c", b"ab", b"de"])
    with np.errstate(over="ignore"):
        table = (header, heap, starts, lengths, np.zeros(16, np.uint64))
        row = kernels.encode_strings(*table, (data, offsets, np.empty(0, np.bool_)), 0, out)
    assert row == 3
    assert out.tolist() == [0, 1, 0, -7]
    assert heap.tobytes() == b"abc"


def test_codes_that_are_not_in_use_are_refused():
    table = ByteDictionary()
    table.encode(*layout([b"a", b"b", b"c"]))
    table.retain(np.array([0, 2]))
    for bad in (1, 3, -2):
        with pytest.raises(StateError, match=f"code {bad} at position 1"):
            table.decode(np.array([0, bad]))
    with pytest.raises(StateError):
        table.retain(np.array([0, 1]))
    table._check()
    assert unpack(*table.decode(np.array([2, -1, 0]), null=-1)) == [b"c", b"", b"a"]


def test_the_number_of_codes_is_limited(monkeypatch):
    monkeypatch.setattr(module, "MAX_CODES", 16)
    table = ByteDictionary()
    with pytest.raises(CapacityError, match="16 different values"):
        table.encode(*layout([b"%d" % i for i in range(17)]))
    table._check()


@pytest.mark.parametrize("damage", ["missing", "negative", "beyond", "wraps", "dtype", "shape", "overlap", "twice"])
def test_a_damaged_snapshot_is_refused(damage):
    table = ByteDictionary()
    table.encode(*layout([b"abc", b"de", b"dx"]))
    arrays = {name: array.copy() for name, array in table.arrays().items()}
    match damage:
        case "missing":
            del arrays["starts"]
        case "negative":
            arrays["lengths"][0] = -5
        case "beyond":
            arrays["starts"][1] = 6
        case "wraps":
            arrays["starts"][1] = 2**63 - 1  # and its length is behind the largest number
        case "dtype":
            arrays["lengths"] = arrays["lengths"].astype(np.int64)
        case "shape":
            arrays["starts"] = arrays["starts"].reshape(1, -1)
        case "overlap":
            arrays["starts"][:], arrays["lengths"][:] = 0, [7, 6, 5]
        case "twice":
            arrays["heap"][:] = np.frombuffer(b"abcdede", np.uint8)
    with pytest.raises(StateError, match="damaged"):
        ByteDictionary.from_arrays(arrays)


@pytest.mark.parametrize("longest", [3, 7, 50])
def test_more_bytes_than_an_offset_says_are_looked_up_in_pieces(longest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    strings = [b"", b"ab", b"", b"abc", b"x", b"ab", b"yz", b"", b"x"] * 4
    valid = np.arange(len(strings)) % 5 != 2
    whole = ByteDictionary().encode(*layout(strings), valid)
    monkeypatch.setattr(module, "_LONGEST", longest)
    table, out = ByteDictionary(), np.full(len(strings), -7)
    assert table.encode(*layout(strings), valid, out) is out
    assert out[valid].tolist() == whole[valid].tolist()
    known = KnownStrings(table).encode(*layout([b"x", b"none", b"ab"] if longest > 3 else [b"x", b"no", b"ab"]))
    assert known[[0, 2]].tolist() == [out[4], out[1]]
    assert known[1] == ABSENT
    with pytest.raises(CapacityError, match=rf"has {longest + 1} bytes; a dictionary takes {longest}"):
        table.encode(*layout([b"a", b"b" * (longest + 1)]))


def test_offsets_that_stand_anywhere_and_in_any_width() -> None:
    data, offsets = layout([b"one", b"two", b"one"])
    raw = bytes(1) + offsets.astype(np.int32).tobytes()
    odd = np.frombuffer(raw, np.int32, offset=1)
    assert ByteDictionary().encode(data, odd).tolist() == ByteDictionary().encode(data, offsets).tolist() == [0, 1, 0]
    assert ByteDictionary().encode(data, offsets[1:]).tolist() == [0, 1]
