"""Messages of Protocol Buffers, written and read by hand."""

from __future__ import annotations

import random

import pytest

from livejoin.server.flight.protobuf import MessageError, pack, read, unpack, write

pytestmark = pytest.mark.nojit


def test_what_is_written_is_read() -> None:
    found = read(write({1: "Zoë", 2: b"\x00\xff", 3: -1, 4: 1 << 62, 5: ["a", "", "b"], 6: True, 7: None, 300: 300}))
    assert (found.text(1), found.data(2), found.number(3), found.number(4)) == ("Zoë", b"\x00\xff", -1, 1 << 62)
    assert (found.texts(5), found.flag(6), found.has(7), found.number(300)) == (["a", "", "b"], True, False, 300)
    assert (found.text(9), found.data(9), found.number(9), found.texts(9), found.optional_text(9)) == (
        "",
        b"",
        0,
        [],
        None,
    )


def test_bytes_are_those_of_the_specification() -> None:
    assert write({1: 150}) == b"\x08\x96\x01"  # the examples of its page on encoding
    assert write({2: "testing"}) == b"\x12\x07testing"
    assert read(b"\x32\x06\x03\x8e\x02\x9e\xa7\x05").numbers(6) == [3, 270, 86942]  # packed
    assert read(b"\x30\x03\x30\x8e\x02").numbers(6) == [3, 270]
    assert read(b"\x08\x01\x08\x02").number(1) == 2  # the last one counts
    assert read(b"\x0d\x01\x02\x03\x04\x11abcdefgh\x18\x05").number(3) == 5  # four and eight bytes, unknown
    assert unpack(pack("a.B", write({1: "x"})))[0] == "a.B"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\x08", "ends within a number"),
        (b"\x08" + b"\xff" * 10, "more than 64 bits"),
        (b"\x0a\x05abc", "has 5 bytes, and 3 follow"),
        (b"\x0a" + b"\xff" * 9 + b"\x01", "and 0 follow"),
        (b"\x0d\x01", "has 4 bytes, and 1 follow"),
        (b"\x00\x01", "field of number 0"),
        (b"\x0b\x0c", "wire type 3"),
        (b"\x08\x01" * 100_001, "more than 100,000 fields"),
    ],
)
def test_malformed_bytes_are_refused(data: bytes, said: str) -> None:
    with pytest.raises(MessageError, match=said):
        read(data)


def test_fields_of_another_type_are_refused() -> None:
    found = read(write({1: 5, 2: b"\xff", 3: b"\x80"}))
    for call in (lambda: found.text(1), lambda: found.texts(1), lambda: found.number(2), lambda: found.text(2)):
        with pytest.raises(MessageError, match=r"field [12] of the message is"):
            call()
    with pytest.raises(MessageError, match="ends within"):
        found.numbers(3)
    with pytest.raises(MessageError, match="says no type"):
        unpack(write({1: "CommandStatementQuery"}))


def test_any_bytes_are_read_or_refused() -> None:
    chance = random.Random(5)
    whole = write({1: "SELECT 1", 2: [1, 2, 3], 3: write({1: b"abc", 5: -7}), 16: ["x"] * 3})
    refused = 0
    for _ in range(3_000):
        data = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        try:
            found = read(bytes(data[: chance.randint(0, len(data))]))
            found.message(3).texts(1)
        except MessageError:
            refused += 1
    assert 500 < refused < 2_999
