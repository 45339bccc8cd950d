"""A measured figure, and the rule that a wrong answer has no speed.

A figure cannot be made without the text of a check that passed, and `verify` raises where one does not.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.table import Table

import livejoin


class WrongAnswerError(Exception):
    """What was measured did not compute the right thing, so its time means nothing."""


def verify(what: str, found: object, expected: object) -> str:
    """Compare an answer with the expected one.

    Returns:
        The check as a text for the figure.

    Raises:
        WrongAnswerError: They differ.

    >>> verify("rows = DuckDB", 3, 3)
    'rows = DuckDB: 3'
    """
    if found != expected:
        msg = f"{what}: found {str(found)[:200]}, expected {str(expected)[:200]}; a wrong answer has no speed"
        raise WrongAnswerError(msg)
    return f"{what}: {found:,}" if isinstance(found, int) else what


@dataclass(frozen=True)
class Aim:
    """What a figure should reach: at least or at most a limit, of its value or of its ratio to the floor."""

    limit: float
    of: Literal["value", "ratio"] = "value"
    most: bool = False

    def __str__(self) -> str:
        sign = "<=" if self.most else ">="
        return f"{sign} {short(self.limit)}" + (" x floor" if self.of == "ratio" else "")


@dataclass(frozen=True)
class Figure:
    """One measured value.

    Args:
        name: What was measured.
        value: The value.
        unit: Its unit.
        check: The check that the answer passed.
        floor: The same quantity for the least work that the machine must do, measured in the same run; None where
            there is no such thing.
        floor_is: What that least work is.
        aim: What the project wants to reach on a quiet machine.
    """

    name: str
    value: float
    unit: str
    check: str
    floor: float | None = None
    floor_is: str = ""
    aim: Aim | None = None

    @property
    def ratio(self) -> float | None:
        """The value as a share of the floor."""
        return self.value / self.floor if self.floor else None

    @property
    def met(self) -> bool | None:
        """Whether the aim is reached; None without an aim."""
        if self.aim is None:
            return None
        measured = self.value if self.aim.of == "value" else self.ratio
        if measured is None:
            return None
        return measured <= self.aim.limit if self.aim.most else measured >= self.aim.limit


def short(value: float) -> str:
    """A number in at most four digits and a suffix.

    >>> short(2_340_000), short(108.4), short(0.35)
    ('2.34 M', '108', '0.35')
    """
    for size, suffix in ((1e9, " G"), (1e6, " M"), (1e4, " K")):
        if abs(value) >= size:
            return f"{value / (1e3 if size == 1e4 else size):.3g}{suffix}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def show(title: str, figures: Sequence[Figure], console: Console) -> None:
    """Print figures as a table."""
    table = Table(title=title, title_justify="left", show_lines=True)
    table.add_column("figure, its check and its floor")
    for heading in ("measured", "floor", "share", "aim"):
        table.add_column(heading, justify="right")
    for figure in figures:
        colour = {True: "green", False: "red", None: "default"}[figure.met]
        notes = [figure.check] + ([f"floor: {figure.floor_is}"] if figure.floor_is else [])
        table.add_row(
            f"[bold]{figure.name}[/]\n[dim]" + "\n".join(notes) + "[/]",
            f"[{colour}]{short(figure.value)}[/]\n{figure.unit}",
            "" if figure.floor is None else short(figure.floor),
            "" if figure.ratio is None else f"{figure.ratio:.2f}",
            "" if figure.aim is None else str(figure.aim),
        )
    console.print(table)


def as_json(figures: Sequence[Figure], **about: Any) -> dict[str, Any]:
    """Figures, what they are about and what they were measured with, ready for ``json.dump``."""
    packages = ("numba", "numpy", "pyarrow", "duckdb")
    return {
        **about,
        "machine": {"system": platform.system(), "processor": platform.machine(), "python": platform.python_version()},
        "versions": {"livejoin": livejoin.__version__, **{name: version(name) for name in packages}},
        "figures": [{**asdict(figure), "ratio": figure.ratio, "met": figure.met} for figure in figures],
    }


def report(measure: Callable[[], list[Figure]], title: str, width: int, file: Path | None, benchmark: str) -> int:
    """Measure, print a table, and write a file if one is asked for; the exit code, 1 if an answer was wrong."""
    try:
        figures = measure()
    except WrongAnswerError as error:
        Console(stderr=True).print(f"[red]wrong answer:[/] {error}")
        return 1
    screen = Console()
    show(title, figures, screen if screen.is_terminal else Console(width=width))
    if file:
        file.write_text(json.dumps(as_json(figures, benchmark=benchmark), indent=2) + "\n")
    return 0
