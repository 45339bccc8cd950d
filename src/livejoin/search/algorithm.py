"""The algorithms that maintain a join, by name.

- ``crown``: change propagation without joins over the join tree, and over bags for cyclic queries (CROWN).
- ``dyn``: Dynamic Yannakakis, T-representations with multiplicities (DYN, section 4); over the same bags.
- ``change-propagation``: binary joins whose results are all kept, the standard framework, for comparison.
- ``auto``: what the planner takes for best: ``crown``.

Each name selects join families (`livejoin.families.registry`).
"""

from __future__ import annotations

from typing import Literal, get_args

Algorithm = Literal["auto", "crown", "dyn", "change-propagation"]

ALGORITHMS: tuple[Algorithm, ...] = get_args(Algorithm)
