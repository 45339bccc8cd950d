"""Folders that livejoin writes and reads lie apart: none is another one of them, or within it.

A stream that reads from a folder would read what is written there, and one thing would remove the files of another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from livejoin.errors import PipelineError
from livejoin.state.store_folder import StorePath


@dataclass(frozen=True)
class OwnPlace:
    """A folder or a file.

    Args:
        name: The name for people, as ``checkpoint=``.
        path: Where it is.
        below: A pattern: of what lies in the folder only files that match it are meant, as ``*/*.csv``.
        is_read: Whether livejoin only reads there.
    """

    name: str
    path: Path | StorePath
    below: str = ""
    is_read: bool = False


def overlaps(places: Sequence[OwnPlace]) -> Iterator[tuple[OwnPlace, str]]:
    """The places that are an earlier one or lie within each other, each with the reason. Two may be read alike.

    >>> at = [
    ...     OwnPlace("path=", Path("/a")),
    ...     OwnPlace("checkpoint=", Path("/a/b")),
    ...     OwnPlace("T", Path("/c"), is_read=True),
    ... ]
    >>> [(one.name, why) for one, why in overlaps(at)]
    [('checkpoint=', "'/a/b' lies in '/a', which is path=; give each a folder of its own, beside the other")]
    """
    order = sorted(places, key=lambda place: place.is_read)
    for number, place in enumerate(order):
        for earlier in order[:number]:
            if not (place.is_read and earlier.is_read) and (why := _overlap(place, earlier)):
                yield place, why
                break


def check_apart(places: Sequence[OwnPlace]) -> None:
    """Refuse places that overlap.

    Raises:
        PipelineError: Two of them do.
    """
    for place, why in overlaps(places):
        raise PipelineError(why, key=place.name.rstrip("="))


def _overlap(place: OwnPlace, earlier: OwnPlace) -> str:
    if isinstance(place.path, StorePath) or isinstance(earlier.path, StorePath):
        return _overlap_in_store(place, earlier)
    here, there = place.path.resolve(), earlier.path.resolve()
    if here == there and not place.below:
        return f"{str(place.path)!r} is the folder of {earlier.name} too; give each a folder of its own"
    beside = "give each a folder of its own, beside the other"
    if here.is_relative_to(there):
        return f"{str(place.path)!r} lies in {str(earlier.path)!r}, which is {earlier.name}; {beside}"
    if there.is_relative_to(here) and _meets(there.relative_to(here), place.below):
        return f"{str(earlier.path)!r}, which is {earlier.name}, lies in {str(place.path / place.below)!r}; {beside}"
    return ""


def _overlap_in_store(place: OwnPlace, earlier: OwnPlace) -> str:
    if not isinstance(place.path, StorePath) or not isinstance(earlier.path, StorePath):
        return ""
    here, there = f"{place.path}/", f"{earlier.path}/"
    if here == there:
        return f"{str(place.path)!r} is the place of {earlier.name} too; give each a prefix of its own"
    inner, outer = (place, earlier) if here.startswith(there) else (earlier, place)
    if here.startswith(there) or there.startswith(here):
        beside = "give each a prefix of its own, beside the other"
        return f"{str(inner.path)!r}, which is {inner.name}, lies below {str(outer.path)!r}, {outer.name}; {beside}"
    return ""


def _meets(path: Path, pattern: str) -> bool:
    """Whether a pattern means a path, or something in it or above it."""
    return all(fnmatchcase(part, one) for part, one in zip(path.parts, Path(pattern).parts, strict=False))
