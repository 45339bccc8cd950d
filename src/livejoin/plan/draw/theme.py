"""Colours and fonts of pictures and pages, from ``theme.css`` beside this file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Literal

Mode = Literal["light", "dark"]
_PROPERTY = re.compile(r"^ *--lj-([a-z-]+): ([^;]+);$", re.MULTILINE)


@cache
def theme(mode: Mode) -> Mapping[str, str]:
    """The values by the names of the properties, without ``--lj-``; fonts are the same in both modes.

    >>> theme("light")["ink"], theme("dark")["ink"]
    ('#1f2328', '#e6edf3')
    """
    light, _, dark = (files("livejoin.plan.draw") / "theme.css").read_text(encoding="utf-8").partition("@media")
    found = dict(_PROPERTY.findall(light))
    return found if mode == "light" else found | dict(_PROPERTY.findall(dark))


def declared(css: str, name: str, mode: Mode) -> str:
    """A declaration with a value of the theme: that of the page around it, if it has one.

    What does not know custom properties keeps the first of both.

    >>> declared("fill", "ink", "light")
    'fill:#1f2328;fill:var(--lj-ink,#1f2328)'
    """
    value = theme(mode)[name]
    return f"{css}:{value};{css}:var(--lj-{name},{value})"
