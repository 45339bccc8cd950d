"""Measurements as pictures, PNG and SVG, with matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.crown.measure import Measurement
from benchmarks.crown.report import AXES, TITLES, Results, a_change, label


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
                axes.bar(at, a_change(m), width, color=f"C{number}", hatch=hatch, edgecolor="white", linewidth=0.3)
        axes.bar(0, 0, color=f"C{number}", label=system)
    axes.set(yscale="log", title=f"{title}; hatched: until the limit")
    axes.set_xticks(range(len(queries)), queries)
    _legend(axes)
    return _saved(figure, file)


def _memory(measurements: Sequence[Measurement], file: Path) -> list[Path]:
    """Memory against the changes gone through, of every system that finished something."""
    from matplotlib import pyplot as plt  # noqa: PLC0415

    groups = list(dict.fromkeys((m.stream, m.query) for m in measurements))
    systems = list(dict.fromkeys(label(m) for m in measurements))
    figure, axes = plt.subplots(figsize=(5 + 0.4 * len(groups), 3.6), layout="constrained")
    for number, system in enumerate(systems):
        chosen = [m for m in measurements if label(m) == system]
        at = [groups.index((m.stream, m.query)) for m in chosen]
        grown = [max(1e-1, (m.points[-1].memory - m.idle) / 1e6) for m in chosen]
        axes.plot(at, grown, "o", color=f"C{number}", label=system, markersize=4)
    axes.set(yscale="log", title=TITLES["memory"])
    axes.set_xticks(range(len(groups)), [f"{stream}\n{query}" for stream, query in groups], rotation=60, ha="right")
    _legend(axes)
    return _saved(figure, file)


def _lines(name: str, measurements: Sequence[Measurement], file: Path) -> list[Path]:
    """Cost of a change against what the experiment varies: a colour a query, a style a system."""
    from matplotlib import pyplot as plt  # noqa: PLC0415

    axis = AXES[name]
    lines: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for m in measurements:
        value = float(m.commit if axis == "commit" else m.facts[axis])
        cost = a_change(m)
        if cost is not None and m.status == "right":
            lines.setdefault((m.query, m.mode if name == "batches" else m.system), []).append((value, cost))
    colours = list(dict.fromkeys(query for query, _ in lines))
    styles = list(dict.fromkeys(kind for _, kind in lines))
    figure, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
    for (query, kind), points in lines.items():
        look = {"color": f"C{colours.index(query)}", "linestyle": ("-", "--", ":", "-.")[styles.index(kind) % 4]}
        axes.plot(*zip(*sorted(points), strict=True), marker="o", markersize=3, label=f"{query}, {kind}", **look)
    axes.set(xscale="log", yscale="log", title=TITLES[name], xlabel=axis, ylabel="microseconds a change")
    _legend(axes)
    return _saved(figure, file)


def _counting(measurements: Sequence[Measurement], file: Path) -> list[Path]:
    from matplotlib import pyplot as plt  # noqa: PLC0415

    figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
    for m in measurements:
        axes.plot(
            [p.rows for p in m.points], [p.seconds * 1e3 for p in m.points], marker="o", markersize=3, label=m.system
        )
    axes.set(xscale="log", yscale="log", title=TITLES["counting"], xlabel="rows of the result", ylabel="milliseconds")
    _legend(axes)
    return _saved(figure, file)


def _legend(axes: Any) -> None:
    axes.legend(frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))


def _saved(figure: Any, file: Path) -> list[Path]:
    from matplotlib import pyplot as plt  # noqa: PLC0415

    files = [file.with_name(file.name + suffix) for suffix in (".png", ".svg")]
    figure.savefig(files[0], dpi=120)
    figure.savefig(files[1], metadata={"Date": None})
    plt.close(figure)
    return files
