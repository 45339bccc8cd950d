"""The social network of LDBC's test data as a change stream of any size.

The test data (250 persons, 10,709 messages) is scaled up by a *cyclic lift*: the network is copied k times, and an
acquaintance of u and v in the data becomes one of u's copy i and v's copy i + s (mod k) for all i, with a random s for
each acquaintance. So the copies are one network, and what the queries depend on is kept exactly: the number of friends
and of messages of each person, the tags of each message and so the popularity of tags relative to the size, the shares
of posts and comments, the names, and the days on which things happen (within each day, copies differ by up to an hour).
Cycles are not kept: they become longer. Both directions of an acquaintance are rows, as in LDBC's relational schema.
"""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.crown.streams import ChangeStream, Timed, first_in_first_out
from livejoin.words import Words

NONE = -1
DAY = 24 * 3600 * 1000
_JITTER = 3600 * 1000
_ADD_PERSON, _ADD_POST, _ADD_COMMENT, _ADD_FRIENDSHIP = "1", "6", "7", "8"


@dataclass(frozen=True, eq=False)
class Network:
    """The data: ids, and times in milliseconds.

    Args:
        persons: int64 of shape (2, n): id and time.
        names: First and last name of each person.
        messages: int64 of shape (4, n): id, creator, the message that it replies to or `NONE`, and time.
        tagged: int64 of shape (3, n): message, tag and the message's time.
        knows: int64 of shape (3, n): two persons and time, each acquaintance once.
        tags: Ids of the tags.
        tag_names: Their names.
    """

    persons: Words
    names: tuple[tuple[str, ...], tuple[str, ...]]
    messages: Words
    tagged: Words
    knows: Words
    tags: Words
    tag_names: tuple[str, ...]


def load_network(path: Path) -> Network:
    """Read the test data, its update streams included.

    Args:
        path: The archive, or the folder that it unpacks to.

    Raises:
        ValueError: A file of the data is missing.
    """
    lines = _archive(path) if path.is_file() else _folder(path)
    persons = [(row[0], row[1], row[2], row[5]) for row in lines("person_0_0.csv")[1:]]
    posts = [(row[0], row[8], "", row[2]) for row in lines("post_0_0.csv")[1:]]
    comments = [(row[0], row[6], row[8] or row[9], row[1]) for row in lines("comment_0_0.csv")[1:]]
    knows = [(row[0], row[1], row[2]) for row in lines("person_knows_person_0_0.csv")[1:]]
    tagged = [(row[0], row[1]) for kind in ("post", "comment") for row in lines(f"{kind}_hasTag_tag_0_0.csv")[1:]]
    for row in [*lines("updateStream_0_0_person.csv"), *lines("updateStream_0_0_forum.csv")]:
        operation = row[2]
        if operation == _ADD_PERSON:
            persons.append((row[3], row[4], row[5], row[8]))
        elif operation == _ADD_FRIENDSHIP:
            knows.append((row[3], row[4], row[5]))
        elif operation == _ADD_POST:
            posts.append((row[3], row[11], "", row[5]))
            tagged += [(row[3], tag) for tag in row[14].split(";") if tag]
        elif operation == _ADD_COMMENT:
            replied = row[11] if row[11] != "-1" else row[12]
            comments.append((row[3], row[9], replied, row[4]))
            tagged += [(row[3], tag) for tag in row[13].split(";") if tag]
    messages = np.array([(_id(m), _id(c), _id(r), _time(t)) for m, c, r, t in [*posts, *comments]], np.int64).T
    created = dict(zip(messages[0].tolist(), messages[3].tolist(), strict=True))
    tags = lines("tag_0_0.csv")[1:]
    return Network(
        persons=np.array([(_id(p), _time(t)) for p, _, _, t in persons], np.int64).T,
        names=(tuple(p[1] for p in persons), tuple(p[2] for p in persons)),
        messages=messages,
        tagged=np.array([(_id(m), _id(t), created[_id(m)]) for m, t in tagged], np.int64).T,
        knows=np.array([(_id(a), _id(b), _time(t)) for a, b, t in knows], np.int64).T,
        tags=np.array([_id(row[0]) for row in tags], np.int64),
        tag_names=tuple(row[1] for row in tags),
    )


def lift(network: Network, copies: int, seed: int = 1) -> Network:
    """The network ``copies`` times as large, as the module says; an id x becomes x * copies + copy.

    >>> rows = np.array([[1, 2], [10, 20]])
    >>> lifted = lift(
    ...     Network(
    ...         rows,
    ...         (("a", "b"), ("c", "d")),
    ...         *[np.zeros((n, 0), np.int64) for n in (4, 3, 3)],
    ...         np.zeros(0, np.int64),
    ...         (),
    ...     ),
    ...     3,
    ... )
    >>> sorted(lifted.persons[0].tolist())
    [3, 4, 5, 6, 7, 8]
    """
    generator = np.random.default_rng(seed)

    def copied(rows: Words) -> tuple[Words, Words]:
        numbers = np.tile(np.arange(copies), rows.shape[1])
        return np.repeat(rows, copies, axis=1), numbers

    def moved(ids: Words, numbers: Words) -> Words:
        return np.where(ids == NONE, NONE, ids * copies + numbers)

    late = generator.integers(0, _JITTER if copies > 1 else 1, copies)  # one for each copy, which keeps its order
    persons, number = copied(network.persons)
    messages, of_message = copied(network.messages)
    tagged, of_tagged = copied(network.tagged)
    knows, of_knows = copied(network.knows)
    shift = np.repeat(generator.integers(0, copies, network.knows.shape[1]), copies)
    first, last = (tuple(name for name in names for _ in range(copies)) for names in network.names)
    return Network(
        persons=np.stack([moved(persons[0], number), persons[1] + late[number]]),
        names=(first, last),
        messages=np.stack([*(moved(messages[i], of_message) for i in range(3)), messages[3] + late[of_message]]),
        tagged=np.stack([moved(tagged[0], of_tagged), tagged[1], tagged[2] + late[of_tagged]]),
        knows=np.stack(
            [moved(knows[0], of_knows), moved(knows[1], (of_knows + shift) % copies), knows[2] + late[of_knows]]
        ),
        tags=network.tags,
        tag_names=network.tag_names,
    )


def snb_stream(network: Network, days: int, name: str = "SNB") -> ChangeStream:
    """The network's changes in the order of their times; every row but the tags lives for ``days``."""
    m, (k1, k2, known) = network.messages, network.knows
    replied = pa.array(m[2], mask=m[2] == NONE)
    both = np.concatenate([known, known])
    tables = {
        "tag": Timed(pa.table({"t_tagid": network.tags, "t_name": list(network.tag_names)}), None),
        "person": Timed(
            pa.table(
                {
                    "p_personid": network.persons[0],
                    "p_firstname": list(network.names[0]),
                    "p_lastname": list(network.names[1]),
                }
            ),
            network.persons[1],
        ),
        "knows": Timed(
            pa.table({"k_person1id": np.concatenate([k1, k2]), "k_person2id": np.concatenate([k2, k1])}), both
        ),
        "message": Timed(pa.table({"m_messageid": m[0], "m_creatorid": m[1], "m_c_replyof": replied}), m[3]),
        "message_tag": Timed(
            pa.table({"mt_messageid": network.tagged[0], "mt_tagid": network.tagged[1]}), network.tagged[2]
        ),
    }
    return first_in_first_out(name, tables, days * DAY)


def _id(text: str) -> int:
    return int(text) if text else NONE


def _time(text: str) -> int:
    """Milliseconds since 1970, of a number of them or of a date in ISO form, which is in UTC."""
    return int(text) if text.isdigit() else int(np.datetime64(text[:23], "ms").astype(np.int64))


Lines = Callable[[str], Sequence[list[str]]]


def _split(text: str) -> list[list[str]]:
    return [line.split("|") for line in text.splitlines()]


def _archive(path: Path) -> Lines:
    with tarfile.open(path) as archive:
        members = [member for member in archive.getmembers() if member.isfile()]
        texts = {Path(one.name).name: archive.extractfile(one).read().decode() for one in members}  # type: ignore[union-attr]

    def lines(name: str) -> list[list[str]]:
        if name not in texts:
            msg = f"{path} has no {name}; it should be LDBC's test data for SNB Interactive v1"
            raise ValueError(msg)
        return _split(texts[name])

    return lines


def _folder(path: Path) -> Lines:
    files = {file.name: file for file in path.rglob("*.csv")}

    def lines(name: str) -> list[list[str]]:
        if name not in files:
            msg = f"{path} has no {name}; it should be LDBC's test data for SNB Interactive v1, unpacked"
            raise ValueError(msg)
        return _split(files[name].read_text())

    return lines
