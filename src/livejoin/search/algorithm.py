"""The algorithms that maintain a join, by name.

- ``crown``: change propagation without joins over the join tree, and over bags for cyclic queries (CROWN).
- ``dyn``: Dynamic Yannakakis, T-representations with multiplicities (DYN, section 4); over the same bags.
- ``change-propagation``: binary joins whose results are all kept, the standard framework, for comparison.
- ``aju``: rows linked along primary keys, for foreign-key joins and only for these (AJU, section 3).
- ``view-tree``: static tables joined once, and a join tree in which every change costs O(1), for queries where that is
  possible and only for these (ICDT 2025).
- ``transitions``: a state is the set of dynamic rows that matter, and a change a step to another one, for queries over
  static and dynamic tables where these decide which rows matter and only for these (ICDT 2025, sections 6 and 8).
- ``auto``: what the planner takes for best: ``crown``, or ``aju`` where that has the better bound.

Each name selects join families (`livejoin.families.registry`).
"""

from __future__ import annotations

from typing import Literal, get_args

Algorithm = Literal["auto", "crown", "dyn", "change-propagation", "aju", "view-tree", "transitions"]

ALGORITHMS: tuple[Algorithm, ...] = get_args(Algorithm)
