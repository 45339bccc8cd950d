"""Random foreign-key joins: DAGs with one root, shared descendants and composite keys."""

from __future__ import annotations

from random import Random

import pyarrow as pa

from livejoin.query import Atom, ColumnRef, ConjunctiveQuery, Output
from livejoin.schema import Column, SqlType, Table
from livejoin.theory.keys.foreign_key import foreign_key_acyclic, foreign_key_graph

BIGINT = SqlType.integer(64)


def random_join(random: Random, relations: int) -> ConjunctiveQuery:
    """A foreign-key acyclic join of so many tables, some of them perhaps the same one twice."""
    while True:
        query = _any_join(random, relations)
        if query.head and foreign_key_acyclic(foreign_key_graph(query)):
            return query


def _any_join(random: Random, relations: int) -> ConjunctiveQuery:
    """Relation r has a key of its own, and perhaps that of another one in it, and references some before it."""
    keys: list[tuple[str, ...]] = []
    atoms: list[Atom] = []
    for r in range(relations):
        is_root = r == relations - 1
        below = [c for c in range(r) if random.random() < (0.7 if is_root else 0.4)]
        foreign = list(dict.fromkeys(v for c in below for v in keys[c]))
        key = [f"x{r}"]
        if below and random.random() < 0.3:
            key += random.sample(foreign, random.randint(1, min(2, len(foreign))))
        keyless = is_root and random.random() < 0.7
        names = [*([] if keyless else key[:1]), *foreign, f"v{r}"]
        random.shuffle(names)
        shown = tuple(i for i, name in enumerate(names) if name != f"v{r}" or random.random() < 0.8)
        keys.append(() if keyless else tuple(key))
        primary = tuple(sorted(names.index(v) for v in keys[-1]))
        columns = tuple(Column(name, BIGINT, nullable=i not in primary) for i, name in enumerate(names))
        table = Table(f"T{r}", columns, primary)
        atoms.append(Atom(f"a{r}", table, shown, tuple(names[i] for i in shown)))
    refs = [ColumnRef(a, column) for a, atom in enumerate(atoms) for column in atom.columns]
    head = tuple(random.sample(refs, random.randint(min(1, len(refs)), len(refs))))
    outputs = tuple(Output(f"o{i}", pa.int64(), i) for i in range(len(head)))
    return ConjunctiveQuery("random", tuple(atoms), head, outputs)
