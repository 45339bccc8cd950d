"""Free-connex queries with projection: distinct and annotated results, against brute force, after every change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product as cartesian

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factors import factor
from join_driver import JoinDriver, Row
from livejoin.query import Product
from livejoin.theory import is_acyclic
from livejoin.theory.trees.join_tree import least_height_tree
from strategies import FUZZ

Rows = dict[Row, int]


def brute(
    variables: Sequence[Sequence[str]], rows: Sequence[Rows], free: Sequence[str], sums: Sequence[Product]
) -> Counter[Row]:
    """The result as a multiset of output values followed by the words of the annotation."""
    totals: dict[Row, list[int]] = {}
    for chosen in cartesian(*(table.items() for table in rows)):
        binding: dict[str, int] = {}
        cells = [c for (r, _), vs in zip(chosen, variables, strict=True) for c in zip(vs, r, strict=True)]
        if all(binding.setdefault(variable, value) == value for variable, value in cells):
            key = tuple(binding[v] for v in free)
            group = totals.setdefault(key, [0] * len(sums))
            for i, product in enumerate(sums):
                value = 1
                for _, times in chosen:
                    value *= times
                for one in product.factors:
                    value *= (
                        binding[one.expression.text] if one.expression.text in binding else int(one.expression.text)
                    )
                group[i] += value
    result: Counter[Row] = Counter()
    for key, group in totals.items():
        words: list[int] = []
        for product, total in zip(sums, group, strict=True):
            for i in range(2 if product.wide else 1):
                word = (total >> (64 * i)) & 0xFFFFFFFFFFFFFFFF
                words.append(word - (1 << 64) if word >> 63 else word)
        result[(*key, *words)] = 1
    return result


@st.composite
def queries(draw: st.DrawFn) -> tuple[list[str], str]:
    """A free-connex query: the variables of each atom, and the free ones."""
    atom = st.sets(st.sampled_from("abcde"), min_size=1, max_size=3).map(lambda chosen: "".join(sorted(chosen)))
    atoms = draw(st.lists(atom, min_size=1, max_size=4))
    free = "".join(sorted(draw(st.sets(st.sampled_from(sorted(set("".join(atoms))))))))
    while not (is_acyclic(e := [frozenset(a) for a in atoms]) and is_acyclic([*e, frozenset(free)])):
        atoms = atoms[:-1]
        free = "".join(v for v in free if v in "".join(atoms))
    return atoms, free


@st.composite
def products(draw: st.DrawFn, atoms: list[str]) -> list[Product]:
    """A count, and sums over products of columns and numbers of different atoms. All of them fit their words."""
    sums = [Product((), draw(st.booleans()))]
    for _ in range(draw(st.integers(0, 2))):
        chosen = draw(st.lists(st.integers(0, len(atoms) - 1), unique=True, max_size=3))
        wide = draw(st.booleans())
        large = [str(1 << 62)] if wide and chosen else []
        factors = [*large, *(draw(st.sampled_from([*atoms[a], "-3"])) for a in sorted(chosen)[len(large) :])]
        sums.append(Product(tuple(map(factor, sorted(chosen), factors)), wide))
    return sums


@FUZZ
@given(st.data())
def test_every_change_of_a_random_query(data: st.DataObject) -> None:
    atoms, free = data.draw(queries())
    sums = data.draw(st.one_of(st.just([]), products(atoms)))
    tree = least_height_tree([frozenset(a) for a in atoms], frozenset(free))
    capacity = data.draw(st.sampled_from([1, 3, 1000]))
    driver = JoinDriver(atoms, tree, free, capacity, True, frozenset(free), sums)
    rows: list[Rows] = [{} for _ in atoms]
    before: Counter[Row] = Counter()
    for _ in range(data.draw(st.integers(5, 40))):
        atom = data.draw(st.integers(0, len(atoms) - 1))
        row = tuple(data.draw(st.integers(-1, 1)) for _ in atoms[atom])
        present = rows[atom].get(row, 0)
        weight = data.draw(st.sampled_from([1, 1, 2, -1, -present]))
        if not weight or present + weight < 0:
            continue
        delta = driver.change(atom, row, weight)
        rows[atom][row] = present + weight
        if not rows[atom][row]:
            del rows[atom][row]
        after = brute(atoms, rows, free, sums)
        assert driver.result() == after
        assert {r: n for r, n in delta.items() if n} == {r: n for r in {*before, *after} if (n := after[r] - before[r])}
        assert driver.join.count() == len(after)
        driver.check()
        before = after


@pytest.mark.parametrize("free", ["", "b", "bc", "abcd"])
@pytest.mark.parametrize("annotated", [False, True])
def test_a_path_of_three(free: str, annotated: bool) -> None:
    atoms = ["ab", "bc", "cd"]
    sums = [Product(), Product((factor(0, "a"), factor(2, "d")), True)] if annotated else []
    tree = least_height_tree([frozenset(a) for a in atoms], frozenset(free))
    driver = JoinDriver(atoms, tree, free, None, True, frozenset(free), sums)
    rows: list[Rows] = [{} for _ in atoms]
    for x, y in cartesian(range(4), repeat=2):
        for atom in range(3):
            driver.insert(atom, (x, y))
            rows[atom][(x, y)] = 1
    assert driver.result() == brute(atoms, rows, free, sums)
    for x, y in cartesian(range(4), repeat=2):
        for atom in range(3):
            driver.delete(atom, (x, y))
    assert not driver.result()
    driver.check()
