"""Aggregates of a result estimated from draws, with an interval: of results too large to list.

A view draws rows uniformly and with replacement (`View.sample`), so that draws are independent, and their mean has the
distribution of the central limit theorem. Of counts the interval is Wilson's score interval, which is none of width 0
where no draw met a rare row (Wilson, JASA 22, 1927).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING

import pyarrow as pa

from livejoin.database.statements.asked_once import asked
from livejoin.database.statements.beside import beside
from livejoin.schema import Column, Table
from livejoin.sql import Aggregated, aggregated

if TYPE_CHECKING:
    from livejoin.database.view import View

_FIRST = 1_000  # draws; four times as many each time
_GROWTH = 4
_DRAWN = "drawn"


@dataclass(frozen=True)
class Estimate:
    """An aggregate, about.

    Args:
        value: The estimate; None where there is no value, as of an average of no rows.
        low: The lower end of the interval.
        high: The upper end. The true value lies between them with the probability ``confidence``.
        confidence: The probability.
        draws: How many rows were drawn; 0 where the value is exact.
        rows: How many rows the view has.
    """

    value: float | None
    low: float | None
    high: float | None
    confidence: float
    draws: int
    rows: int

    @property
    def is_exact(self) -> bool:
        """Whether all rows were read."""
        return self.draws == 0


@dataclass(frozen=True)
class _Moments:
    """Numbers that were drawn: how many, their mean, and the sum of squared distances from it."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0

    def with_more(self, other: _Moments) -> _Moments:
        """Both together (Chan, Golub, LeVeque, 1979)."""
        if not self.count or not other.count:
            return self if self.count else other
        count, apart = self.count + other.count, other.mean - self.mean
        mean = self.mean + apart * other.count / count
        return _Moments(count, mean, self.squares + other.squares + apart * apart * self.count * other.count / count)


def estimated(view: View, aggregate: str, error: float, confidence: float, seed: int | None, most: int) -> Estimate:
    """As `livejoin.database.view.View.estimate`, of arguments that were checked."""
    what = aggregated(aggregate)
    rows = view.count()
    if what.counts_all:
        return Estimate(rows, rows, rows, confidence, 0, rows)
    if rows <= _GROWTH * _FIRST:
        found = _moments(view, view.to_arrow(), what)
        value = _value(what, found, rows)
        return Estimate(value, value, value, confidence, 0, rows)
    score = NormalDist().inv_cdf((1 + confidence) / 2)
    found, drawn, wanted = _Moments(), 0, _FIRST
    while True:
        part = view.sample(wanted - drawn, seed=None if seed is None else seed + drawn)
        found, drawn = found.with_more(_moments(view, part, what)), wanted
        value = _value(what, found, rows)
        low, high = _interval(what, found, drawn, score)
        scale = 1 if what.function == "avg" else rows
        estimate = Estimate(value, low * scale, high * scale, confidence, drawn, rows)
        if value is None or not isfinite(value) or (high - low) * scale / 2 <= error * abs(value) or drawn >= most:
            return estimate
        wanted = min(most, drawn * _GROWTH)


def _value(what: Aggregated, found: _Moments, rows: int) -> float | None:
    if not found.count:
        return 0.0 if what.is_count else None
    return found.mean if what.function == "avg" else found.mean * rows


def _interval(what: Aggregated, found: _Moments, drawn: int, score: float) -> tuple[float, float]:
    """Where the mean of all rows lies."""
    if what.is_count:
        square = score * score
        middle = (found.mean + square / (2 * drawn)) / (1 + square / drawn)
        half = score / (1 + square / drawn) * sqrt(found.mean * (1 - found.mean) / drawn + square / (4 * drawn * drawn))
        low = middle - half if found.mean > 0 else 0.0
        return low, middle + half if found.mean < 1 else 1.0
    if found.count < 2:
        return found.mean, found.mean
    half = score * sqrt(found.squares / (found.count - 1) / found.count)
    return found.mean - half, found.mean + half


def _moments(view: View, rows: pa.Table, what: Aggregated) -> _Moments:
    """The moments of what is aggregated, over some rows, computed as a view would."""
    contents = beside([(Table(_DRAWN, tuple(map(Column, rows.column_names, view.types))), rows)])
    text = f"SELECT COUNT(y) AS n, AVG(y) AS mean, VAR_POP(y) AS spread FROM (SELECT {what.number} AS y FROM {_DRAWN})"
    (found,) = asked(contents, text).to_pylist()
    if not found["n"]:
        return _Moments()
    return _Moments(found["n"], found["mean"], found["spread"] * found["n"])
