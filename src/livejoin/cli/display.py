"""The display of a run: a panel that changes in place on a terminal, plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Event, Thread
from types import TracebackType
from typing import Protocol

from rich.bar import Bar
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from livejoin.cli.meter import Meter, clock_time, size, sparkline
from livejoin.spark import BatchReport, Recovery

_WIDTH = 80
_SECONDS_BETWEEN_LINES = 2.0
_SECONDS_BETWEEN_SIGNS = 15.0  # of life, while no batch is done


class Display(Protocol):
    """The display of a running pipeline."""

    def __enter__(self) -> Display: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

    def phase(self, text: str) -> None:
        """Show the present phase."""

    def stage(self, text: str) -> None:
        """Show what is waited for before the first batch; may be called from another thread."""

    def came_back(self, recovery: Recovery) -> None:
        """Show the state that the checkpoint had."""

    def batch(self, report: BatchReport) -> None:
        """Show a batch; called from another thread."""


def display_for(console: Console, title: str, views: Sequence[str], meter: Meter) -> Display:
    """The panel on a terminal, lines elsewhere."""
    return Dashboard(console, title, views, meter) if console.is_terminal else Lines(console, title, meter)


class Dashboard:
    """A panel that is redrawn some times a second, and stays at the end."""

    def __init__(self, console: Console, title: str, views: Sequence[str], meter: Meter) -> None:
        self._title = title
        self._views = views
        self._meter = meter
        self._phase = ""
        self._stage = ""
        self._recovery: Recovery | None = None
        self._console = console
        self._live = Live(console=console, get_renderable=self.panel, refresh_per_second=8)

    def __enter__(self) -> Dashboard:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._live.stop()

    def phase(self, text: str) -> None:
        """Show the present phase."""
        self._phase = text
        self._stage = ""

    def stage(self, text: str) -> None:
        """Keep what is waited for, for the panel."""
        self._stage = text

    def came_back(self, recovery: Recovery) -> None:
        """Keep the report of the recovery for the panel."""
        self._recovery = recovery

    def batch(self, report: BatchReport) -> None:
        """Count a batch."""
        self._meter.add(report)

    def panel(self) -> RenderableType:
        """The panel at this moment."""
        meter = self._meter
        reports = [report for _, report in list(meter.history)]
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(min_width=10, max_width=15, no_wrap=True, overflow="ellipsis")
        grid.add_column(justify="right", min_width=13, no_wrap=True)
        grid.add_column(min_width=20, no_wrap=True)
        grid.add_column(justify="right", min_width=20, no_wrap=True)
        total = f" of {meter.expected}" if meter.expected else ""
        grid.add_row("batches", Text(f"{meter.done}{total}", "bold"), self._bar(), self._left())
        grid.add_row(
            "changes",
            Text(f"{meter.changes_a_second:,.0f}/s", "bold cyan"),
            Text(sparkline([report.changes for report in reports]), "cyan"),
            f"{meter.changes:,} in all",
        )
        grid.add_row(
            "delta rows",
            Text(f"{meter.delta_rows_a_second:,.0f}/s", "bold magenta"),
            Text(sparkline([sum(report.delta_rows.values()) for report in reports]), "magenta"),
            f"{meter.delta_rows:,} in all",
        )
        for view in self._views:
            rows = [report.rows.get(view, 0) for report in reports]
            now = f"{rows[-1]:,}" if rows else "0"
            grid.add_row(view, Text(now, "bold green"), Text(sparkline(rows), "green"), "rows in the result")
        state = size(meter.last.state_bytes) if meter.last else "0 B"
        share = f"engine busy {meter.engine_share:.0%}" if reports else ""
        grid.add_row("state", Text(state, "bold"), "", Text(share, "dim"))
        below = [] if not meter.left_out else [Text(f"left out    {meter.left_out}", "yellow")]
        if meter.refreshed:
            below.append(Text(f"refreshed   {', '.join(meter.refreshed)}", "dim"))
        if meter.cells:
            below.append(Text(f"cells       {meter.cells}", "dim"))
        if self._stage and not meter.batches:
            below.append(Text(f"now         {self._stage}", "dim"))
        if self._recovery is not None:
            found = self._recovery
            told = f"{found.rows:,} rows, {found.changes:,} changes applied again, in {found.seconds:.1f} s"
            below.append(Text(f"came back   {told}", "dim"))
        return Panel(
            Group(grid, *below),
            title=Text.assemble(("livejoin", "bold"), f"  {self._title}"),
            title_align="left",
            subtitle=Text(f"{self._phase}  {clock_time(meter.elapsed)}", "dim"),
            subtitle_align="right",
            width=min(_WIDTH, self._console.width),
            padding=(0, 1),
        )

    def _bar(self) -> RenderableType:
        if not self._meter.expected:
            return ""
        return Bar(self._meter.expected, 0, self._meter.done, width=20, color="yellow", bgcolor="grey23")

    def _left(self) -> str:
        left = self._meter.seconds_left
        return "" if left is None else f"{clock_time(left)} left"


class Lines:
    """A line for each event, and one every few seconds in between: for logs and for CI."""

    def __init__(self, console: Console, title: str, meter: Meter) -> None:
        self._console = console
        self._title = title
        self._meter = meter
        self._shown = meter.clock()
        self._batches_shown = 0
        self._stage = ""
        self._over = Event()
        self._waiting = Thread(target=self._wait, name="livejoin-waiting", daemon=True)

    def __enter__(self) -> Lines:
        self._print(f"livejoin  {self._title}")
        self._waiting.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._over.set()
        self._waiting.join()
        self._show()

    def phase(self, text: str) -> None:
        """Print the present phase."""
        self._stage = text
        self._print(text)

    def stage(self, text: str) -> None:
        """Print what is waited for, if no batch is done."""
        if not self._meter.batches:
            self._stage = text
            self._print(text)

    def came_back(self, recovery: Recovery) -> None:
        """Print the report of the recovery."""
        self._print(str(recovery))

    def batch(self, report: BatchReport) -> None:
        """Count a batch."""
        self._meter.add(report)
        if self._meter.clock() - self._shown >= _SECONDS_BETWEEN_LINES:
            self._show()

    def line(self) -> str:
        """The present figures in one line."""
        meter = self._meter
        total = f" of {meter.expected}" if meter.expected else ""
        parts = [
            f"batches {meter.done}{total}",
            f"{meter.changes_a_second:,.0f} changes/s",
            f"{meter.delta_rows_a_second:,.0f} delta rows/s",
        ]
        if meter.last:
            parts += [f"{view} {rows:,} rows" for view, rows in meter.last.rows.items()]
            parts.append(f"state {size(meter.last.state_bytes)}")
        if meter.cells:
            parts.append(meter.cells)
        if meter.left_out:
            parts.append(f"left out: {meter.left_out}")
        if meter.refreshed:
            parts.append(f"refreshed: {', '.join(meter.refreshed)}")
        left = meter.seconds_left
        if left:
            parts.append(f"{clock_time(left)} left")
        return " | ".join(parts)

    def _wait(self) -> None:
        """Say now and then what is still waited for, until there is a batch."""
        while not self._over.wait(_SECONDS_BETWEEN_SIGNS) and not self._meter.batches:
            self._print(f"{clock_time(self._meter.elapsed)}, still: {self._stage}")

    def _show(self) -> None:
        if self._meter.batches > self._batches_shown:
            self._shown = self._meter.clock()
            self._batches_shown = self._meter.batches
            self._print(self.line())

    def _print(self, text: str) -> None:
        self._console.print(Text(text), soft_wrap=True)
