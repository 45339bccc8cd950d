"""Measurements as pictures, PNG and SVG, with matplotlib.

A system has one colour in all of them, numbers are written out, and the SVG follows a dark page around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from benchmarks.crown.measure import Measurement
from benchmarks.crown.report import AXES, TITLES, Results, a_change, label
from livejoin.plan.draw.theme import theme

_COLOURS = {
    "livejoin": "#0969da",
    "DYN": "#bf8700",
    "change propagation": "#1a7f37",
    "DuckDB": "#8250df",
    "differential dataflow": "#cf222e",
    "DBSP": "#0a7ea4",
}
"""Of each system, readable on a light and on a dark page."""
_OTHERS = ("#953800", "#bf3989", "#57606a")
_MILLION = 1_000_000
_STYLES = ("-", "--", ":", "-.")


class MissingPackageError(Exception):
    """Pictures need a package that is not installed."""


def draw(results: Results, folder: Path) -> list[Path]:
    """Draw what was measured.

    Args:
        results: Measurements by experiment.
        folder: Where the files go; made if it is not there.

    Returns:
        The files.

    Raises:
        MissingPackageError: matplotlib is not installed.
    """
    try:
        import matplotlib as mpl  # noqa: PLC0415 - an extra, which measuring does not need
    except ImportError as error:
        msg = (
            "pictures need matplotlib: install the extra 'bench' (pip install 'livejoin[bench]'), or leave --plots out"
        )
        raise MissingPackageError(msg) from error
    mpl.use("Agg")
    mpl.rcParams.update(
        {
            "svg.hashsalt": "livejoin",
            "font.size": 8,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlelocation": "left",
            **{f"{name}.color": theme("light")["ink"] for name in ("text", "xtick", "ytick")},
            **{f"axes.{name}": theme("light")["ink"] for name in ("edgecolor", "labelcolor", "titlecolor")},
            **{f"{name}.facecolor": theme("light")["page"] for name in ("figure", "axes", "savefig")},
        }
    )
    folder.mkdir(parents=True, exist_ok=True)
    files: list[Path] = []
    for name, measurements in results.items():
        right = [m for m in measurements if m.points]
        if not right:
            continue
        if name == "runtime":
            for stream in dict.fromkeys(m.stream for m in right):
                for mode in ("delta", "full"):
                    chosen = [m for m in right if m.stream == stream and m.mode == mode]
                    if chosen:
                        slug = stream.lower().replace(" ", "-")
                        files += _bars(
                            chosen, f"{stream}: microseconds a change, {_told(mode)}", folder / f"runtime-{slug}-{mode}"
                        )
            files += _memory([m for m in right if m.mode == "delta"], folder / "memory")
        elif name in AXES:
            files += _lines(name, right, folder / name)
        elif name == "counting":
            files += _counting(right, folder / name)
    return files


def colour_of(system: str) -> str:
    """The colour of a system, the same in every picture."""
    known = system.partition(",")[0]
    return _COLOURS.get(known) or _OTHERS[sum(map(ord, known)) % len(_OTHERS)]


def _told(mode: str) -> str:
    return "all deltas" if mode == "delta" else "the result after every tenth"


def _bars(measurements: Sequence[Measurement], title: str, file: Path) -> list[Path]:
    """A bar a system for each query; hatched where the stream was not finished."""
    from matplotlib import pyplot as plt  # noqa: PLC0415

    queries = list(dict.fromkeys(m.query for m in measurements))
    systems = list(dict.fromkeys(label(m) for m in measurements))
    figure, axes = plt.subplots(figsize=(4 + 0.9 * len(queries), 3.2), layout="constrained")
    width = 0.8 / len(systems)
    for number, system in enumerate(systems):
        for m in measurements:
            if label(m) == system:
                at = queries.index(m.query) + (number - (len(systems) - 1) / 2) * width
                hatch = None if m.status == "right" else "////"
                look: dict[str, Any] = {"color": colour_of(system), "alpha": 0.55 if "," in system else 1}
                axes.bar(at, a_change(m), width, hatch=hatch, edgecolor=theme("light")["page"], linewidth=0.3, **look)
        axes.bar(0, 0, color=colour_of(system), alpha=0.55 if "," in system else 1, label=system)
    axes.set(yscale="log", title=f"{title}; hatched: until the limit", ylabel="microseconds a change")
    axes.set_xticks(range(len(queries)), queries)
    _legend(axes)
    return _saved(figure, file)


def _memory(measurements: Sequence[Measurement], file: Path) -> list[Path]:
    """Memory against the changes gone through, of every system that finished something."""
    from matplotlib import pyplot as plt  # noqa: PLC0415

    groups = list(dict.fromkeys((m.stream, m.query) for m in measurements))
    systems = list(dict.fromkeys(label(m) for m in measurements))
    figure, axes = plt.subplots(figsize=(5 + 0.4 * len(groups), 3.6), layout="constrained")
    for system in systems:
        chosen = [m for m in measurements if label(m) == system]
        at = [groups.index((m.stream, m.query)) for m in chosen]
        grown = [max(1e-1, (m.points[-1].memory - m.idle) / 1e6) for m in chosen]
        filled = "none" if "," in system else colour_of(system)
        axes.plot(at, grown, "o", color=colour_of(system), markerfacecolor=filled, label=system, markersize=4)
    axes.set(yscale="log", title=TITLES["memory"], ylabel="MB")
    axes.set_xticks(range(len(groups)), [f"{stream}\n{query}" for stream, query in groups], rotation=60, ha="right")
    _legend(axes)
    return _saved(figure, file)


def _lines(name: str, measurements: Sequence[Measurement], file: Path) -> list[Path]:
    """Cost of a change against what the experiment varies: a colour a system, a style a query."""
    from matplotlib import pyplot as plt  # noqa: PLC0415

    axis = AXES[name]
    lines: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for m in measurements:
        value = float(m.commit if axis == "commit" else m.facts[axis])
        cost = a_change(m)
        if cost is not None and m.status == "right":
            lines.setdefault((m.query, m.mode if name == "batches" else m.system), []).append((value, cost))
    queries = list(dict.fromkeys(query for query, _ in lines))
    kinds = list(dict.fromkeys(kind for _, kind in lines))
    marks = "osD^vP*X"
    figure, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
    for (query, kind), points in lines.items():
        # Where one system alone is measured, its modes differ by style.
        system, styled = ("livejoin", kinds.index(kind)) if name == "batches" else (kind, queries.index(query))
        look: dict[str, Any] = {
            "color": colour_of(system),
            "linestyle": _STYLES[styled % 4],
            "marker": marks[queries.index(query) % 8],
        }
        axes.plot(*zip(*sorted(points), strict=True), markersize=3, label=f"{query}, {kind}", **look)
    axes.set(xscale="log", yscale="log", title=TITLES[name], xlabel=axis, ylabel="microseconds a change")
    _legend(axes)
    return _saved(figure, file)


def _counting(measurements: Sequence[Measurement], file: Path) -> list[Path]:
    from matplotlib import pyplot as plt  # noqa: PLC0415

    figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
    for m in measurements:
        rows, spent = [p.rows for p in m.points], [p.seconds * 1e3 for p in m.points]
        axes.plot(rows, spent, marker="o", markersize=3, label=m.system, color=colour_of(m.system))
    axes.set(xscale="log", yscale="log", title=TITLES["counting"], xlabel="rows of the result", ylabel="milliseconds")
    _legend(axes)
    return _saved(figure, file)


def _legend(axes: Any) -> None:
    axes.legend(frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))


def _saved(figure: Any, file: Path) -> list[Path]:
    from matplotlib import pyplot as plt  # noqa: PLC0415
    from matplotlib.ticker import FuncFormatter, LogFormatter  # noqa: PLC0415

    class Between(LogFormatter):  # type: ignore[misc]  # without matplotlib it is Any
        """Numbers between powers of ten, where an axis is so short that some are written."""

        def __call__(self, x: float, pos: int | None = None) -> str:
            return number(x) if super().__call__(x, pos) else ""

    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            if axis.get_scale() == "log":
                axis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
                axis.set_minor_formatter(Between(minor_thresholds=(1.2, 0.5)))
    files = [file.with_name(file.name + suffix) for suffix in (".png", ".svg")]
    title = figure.axes[0].get_title("left")
    figure.savefig(files[0], dpi=120)
    figure.savefig(files[1], metadata={"Date": None})
    plt.close(figure)
    files[1].write_text(_with_dark_mode(files[1].read_text(encoding="utf-8"), title), encoding="utf-8")
    return files


def number(value: float) -> str:
    """A number on an axis.

    >>> number(0.4), number(1000.0), number(3e8)
    ('0.4', '1,000', '300 million')
    """
    return f"{value / _MILLION:,.10g} million" if value >= _MILLION else f"{value:,.10g}"


def _with_dark_mode(svg: str, title: str) -> str:
    """A picture whose ink and paper change on a dark page, with its title for those who do not see it."""
    light, dark = theme("light"), theme("dark")
    rules = "".join(
        f'[style*="{what}: {light[name]}"]{{{what}:{dark[name]} !important}}'
        for name in ("ink", "page")
        for what in ("fill", "stroke")
    )
    begin = svg.index(">", svg.index("<svg")) + 1
    added = f"\n <title>{escape(title)}</title>\n <style>@media (prefers-color-scheme:dark){{{rules}}}</style>"
    return svg[:begin] + added + svg[begin:]
