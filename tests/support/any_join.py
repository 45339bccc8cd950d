"""The algorithms that maintain every join; ``aju`` takes foreign-key joins alone, the others static tables."""

from __future__ import annotations

from livejoin.search.algorithm import ALGORITHMS, Algorithm

ANY_JOIN: tuple[Algorithm, ...] = tuple(name for name in ALGORITHMS if name not in ("aju", "view-tree", "transitions"))
