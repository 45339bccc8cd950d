"""Random foreign-key joins: DAGs with one root, shared descendants, composite keys, and branches of all kinds."""

from __future__ import annotations

from random import Random

import pyarrow as pa

from livejoin.families.foreign_keys.graph import LinkGraph, link_graph
from livejoin.query import Atom, Branch, ColumnRef, ConjunctiveQuery, EdgeKind, Output
from livejoin.schema import Column, SqlType, Table

_BIGINT = SqlType.integer(64)
_KINDS: tuple[EdgeKind, ...] = ("exists", "not exists", "optional", "optional")


def random_join(random: Random, relations: int, branches: int = 0) -> ConjunctiveQuery:
    """A foreign-key acyclic join of so many tables, on which branches of one to three tables hang by their keys."""
    while True:
        query = _any_join(random, relations, branches)
        if query is not None and isinstance(link_graph(query), LinkGraph):
            return query


def _any_join(random: Random, relations: int, branches: int) -> ConjunctiveQuery | None:
    atoms: list[Atom] = []
    parts = [_part(random, atoms, relations, keyless=random.random() < 0.7)]
    found: list[Branch] = []
    for _ in range(branches):
        above = random.randrange(len(parts))
        part = _part(random, atoms, random.choice((1, 1, 2, 3)), keyless=False)
        root = atoms[part[-1]]
        key = [root.variables[root.columns.index(column)] for column in root.table.primary_key]
        outer = atoms[random.choice(parts[above])].variables
        if not outer:
            return None
        pairs = tuple((random.choice(outer), variable) for variable in key)
        found.append(Branch(random.choice(_KINDS), tuple(part), pairs, above - 1 if above else None))
        parts.append(part)
    shown = [atom for i, part in enumerate(parts) if _is_shown(found, i - 1) for atom in part]
    refs = [ColumnRef(atom, column) for atom in shown for column in atoms[atom].columns]
    if not refs:
        return None
    head = tuple(random.sample(refs, random.randint(1, len(refs))))
    outputs = tuple(Output(f"o{i}", pa.int64(), i) for i in range(len(head)))
    return ConjunctiveQuery("random", tuple(atoms), head, outputs, branches=tuple(found))


def _part(random: Random, atoms: list[Atom], relations: int, keyless: bool) -> list[int]:
    """Relation r has a key of its own, perhaps with that of another one in it, or the key that another one has.

    It references some before it.
    """
    first = len(atoms)
    keys: list[tuple[str, ...]] = []
    for r in range(relations):
        is_root = r == relations - 1
        below = [c for c in range(r) if random.random() < (0.7 if is_root else 0.4)]
        foreign = list(dict.fromkeys(v for c in below for v in keys[c]))
        key = [f"x{first + r}"]
        if below and random.random() < 0.3:
            key += random.sample(foreign, random.randint(1, min(2, len(foreign))))
        twin = random.choice(keys) if keys and random.random() < 0.15 else ()
        if twin and not set(twin) & set(foreign):
            key = list(twin)
        has_key = not (is_root and keyless)
        own = f"v{first + r}"
        names = list(dict.fromkeys([*(key if has_key else []), *foreign, own]))
        random.shuffle(names)
        shown = tuple(i for i, name in enumerate(names) if name != own or random.random() < 0.8)
        keys.append(tuple(key) if has_key else ())
        primary = tuple(sorted(names.index(v) for v in keys[-1]))
        columns = tuple(Column(name, _BIGINT, nullable=i not in primary) for i, name in enumerate(names))
        table = Table(f"T{first + r}", columns, primary)
        atoms.append(Atom(f"a{first + r}", table, shown, tuple(names[i] for i in shown)))
    return list(range(first, len(atoms)))


def _is_shown(branches: list[Branch], position: int | None) -> bool:
    """Whether the head may have columns of a branch, or of the core (-1 or None)."""
    if position is None or position < 0:
        return True
    return branches[position].kind == "optional" and _is_shown(branches, branches[position].above)
