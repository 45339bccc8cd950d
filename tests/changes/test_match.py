"""Names of columns that are matched once, and remembered."""

from __future__ import annotations

import pickle

import pytest

from livejoin.changes import match, read_changes
from livejoin.errors import ChangeFormatError
from livejoin.schema import Column, SqlType, Table

LONG = SqlType.integer(64)


def table(key: tuple[int, ...] = ()) -> Table:
    return Table("T", (Column("id", LONG), Column("n", LONG)), key)


def test_each_set_of_names_has_its_own_places() -> None:
    one = table()
    for _ in range(2):
        assert read_changes(one, [{"id": 1, "n": 2}]).rows.to_pylist() == [{"id": 1, "n": 2}]
        assert read_changes(one, [{"N": 1, "Id": 2}]).rows.to_pylist() == [{"id": 2, "n": 1}]
        batch = read_changes(one, [{"n": 1, "_change_type": "delete", "id": 2, "_seq": 7}])
        assert (batch.rows.to_pylist(), batch.weights.tolist()) == ([{"id": 2, "n": 1}], [-1])
        assert batch.sequence is not None and batch.sequence.tolist() == [7]


def test_what_is_wrong_stays_wrong() -> None:
    one = table()
    for _ in range(2):
        read_changes(one, [{"id": 1, "n": 2}])
        with pytest.raises(ChangeFormatError, match="missing column '_seq'"):
            read_changes(one, [{"id": 1, "n": 2}], needs_sequence=True)
        with pytest.raises(ChangeFormatError, match="missing column 'n'"):
            read_changes(one, [{"id": 1}])
        with pytest.raises(ChangeFormatError, match="unknown column 'x'"):
            read_changes(one, [{"id": 1, "n": 2, "x": 3}])
        with pytest.raises(ChangeFormatError, match="'ID' is there twice"):
            read_changes(one, [{"id": 1, "n": 2, "ID": 3}])


def test_columns_may_lack_only_by_key() -> None:
    one = table(key=(0,))
    gone = [{"id": 1, "_change_type": "delete"}]
    for _ in range(2):
        assert read_changes(one, gone).by_key
        with pytest.raises(ChangeFormatError, match="missing column 'n'"):
            read_changes(one, gone, by_key="never")
        with pytest.raises(ChangeFormatError, match="missing column 'n'"):
            read_changes(one, [{"id": 1, "_change_type": "insert"}])


def test_few_sets_of_names_are_remembered_and_they_are_no_part_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(match, "_KNOWN", 3)
    one = table()
    for number in range(20):
        spelled = f"{number:05b}".replace("0", "d").replace("1", "D")[-1]
        read_changes(one, [{f"i{spelled}": 1, ("n", "N")[number // 2 % 2]: 2, **({"_seq": 1} if number % 3 else {})}])
        assert len(one.remembered) <= 3
    assert one == table() and pickle.loads(pickle.dumps(one)) == one
