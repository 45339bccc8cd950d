"""Figures for the display, computed from the reports of batches: totals, speeds, time left."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from livejoin.spark import BatchReport

_RECENT = 12
_HISTORY = 20
_BARS = "▁▂▃▄▅▆▇█"


@dataclass
class Meter:
    """Counts the batches of one run; changed by ``add``.

    Args:
        expected: How many batches the input makes from the beginning; None if that is not known.
        clock: Gives the time in seconds; tests bring their own.
    """

    expected: int | None = None
    clock: Callable[[], float] = time.monotonic
    changes: int = 0
    delta_rows: int = 0
    batches: int = 0
    skipped: int = 0
    ignored: Counter[str] = field(default_factory=Counter)
    letters: int = 0
    late: int = 0
    rebuilds: int = 0
    refreshed: list[str] = field(default_factory=list)
    last: BatchReport | None = None
    history: deque[tuple[float, BatchReport]] = field(default_factory=lambda: deque(maxlen=_HISTORY))
    started: float = field(init=False)
    flowing: float | None = None

    def __post_init__(self) -> None:
        self.started = self.clock()

    def flow(self) -> None:
        """Note that batches may come from now on; speeds count from here."""
        self.flowing = self.clock()

    def add(self, report: BatchReport) -> None:
        """Count a batch. A run that goes on has older input in its first batch, so no number is expected."""
        if not self.batches and report.batch_id:
            self.expected = None
        self.batches += 1
        self.changes += report.changes
        self.delta_rows += sum(report.delta_rows.values())
        self.skipped += report.skipped - sum(report.ignored.values())
        self.ignored.update(report.ignored)
        self.letters += sum(report.dead_letters.values())
        self.late += report.late
        self.rebuilds += report.rebuilds
        self.refreshed += [name for name in report.refreshed if name not in self.refreshed]
        self.last = report
        self.history.append((self.clock(), report))

    @property
    def left_out(self) -> str:
        """The changes that were not applied, by reason; empty if all were."""
        late = "too late"
        counts = (("refused", self.skipped), *self.ignored.items(), ("dead letters", self.letters), (late, self.late))
        return ", ".join(f"{count:,} {what}" for what, count in counts if count)

    @property
    def cells(self) -> str:
        """The work of the cells in the last batch; empty if the engine is in one process."""
        if self.last is None or not self.last.cells:
            return ""
        made = f", {self.rebuilds} made from files" if self.rebuilds else ""
        return f"{len(self.last.cells)} cells, busiest {self.last.skew:.1f} x mean{made}"

    @property
    def elapsed(self) -> float:
        """Seconds since the start of the run."""
        return self.clock() - self.started

    @property
    def done(self) -> int:
        """How many batches the engine holds, those of earlier runs included."""
        return self.last.batch_id + 1 if self.last else 0

    @property
    def changes_a_second(self) -> float:
        """Changes a second over the last batches."""
        return self._speed(lambda report: report.changes)

    @property
    def delta_rows_a_second(self) -> float:
        """Rows of deltas a second over the last batches."""
        return self._speed(lambda report: sum(report.delta_rows.values()))

    @property
    def engine_share(self) -> float:
        """The share of the time, over the last batches, in which the engine worked."""
        return self._speed(lambda report: report.engine_seconds)

    @property
    def seconds_left(self) -> float | None:
        """How many seconds the rest takes at the speed of the last batches; None if that is not known."""
        if self.expected is None or not self.history:
            return None
        return max(self.expected - self.done, 0) * self._span() / len(self._recent())

    def _recent(self) -> list[tuple[float, BatchReport]]:
        return list(self.history)[-_RECENT:]

    def _span(self) -> float:
        """How many seconds the recent batches took."""
        earlier = list(self.history)[:-_RECENT]
        since = earlier[-1][0] if earlier else (self.flowing or self.started)
        return max(self.history[-1][0] - since, 1e-9)

    def _speed(self, measure: Callable[[BatchReport], float]) -> float:
        if not self.history:
            return 0.0
        return sum(measure(report) for _, report in self._recent()) / self._span()


def sparkline(values: Sequence[float]) -> str:
    """Values as a row of bars, the greatest as a full one.

    >>> sparkline([0, 1, 4, 8])
    '▁▂▅█'
    """
    top = max(values, default=0)
    if top <= 0:
        return _BARS[0] * len(values)
    return "".join(_BARS[min(round(value / top * (len(_BARS) - 1) + 0.001), len(_BARS) - 1)] for value in values)


def clock_time(seconds: float) -> str:
    """Seconds as minutes and seconds, or hours.

    >>> clock_time(75), clock_time(3700)
    ('01:15', '1:01:40')
    """
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes:02d}:{rest:02d}"


def size(count: float) -> str:
    """Bytes in a readable unit.

    >>> size(999), size(1_234_567)
    ('999 B', '1.2 MB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"
