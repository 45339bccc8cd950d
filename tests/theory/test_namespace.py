"""The theory under one name: what a reader of the papers looks for is in `livejoin.theory`, with its explanation."""

import inspect
import re
import sys

import pytest

from livejoin import theory

# Parts of the searches: of no use to a reader without the module that they stand in.
MACHINERY = {
    "bag_search",
    "connex_construction",
    "disjoint_intervals",
    "least_height",
    "potential_maximal_clique",
    "tree_decomposition",
}
HELPERS = {
    "grid.EVERYTHING",
    "grid.narrowed",
    "residual.plain",
    "residual.regardless",
    "shares.loads",
    "shares.slices",
    "join_tree.output_variables",
    "preprocessing_width.depends_on",
    "preprocessing_width.width_at",
    "static_parts.StaticPart",
    "static_parts.static_parts",
}


def public(module: str) -> set[str]:
    """The functions and classes that a module of the theory defines and does not hide."""
    defined = vars(sys.modules[module]).items()
    return {name for name, value in defined if getattr(value, "__module__", "") == module and name[0] != "_"}


def test_every_public_definition_is_in_the_namespace() -> None:
    modules = {name.rpartition(".")[2]: public(name) for name in sys.modules if name.startswith("livejoin.theory.")}
    left_out = {f"{m}.{name}" for m, names in modules.items() if m not in MACHINERY for name in names} - HELPERS
    assert {name for name in left_out if name.partition(".")[2] not in theory.__all__} == set()


def test_names_are_there_once() -> None:
    assert len(theory.__all__) == len(set(theory.__all__))
    assert all(hasattr(theory, name) for name in theory.__all__)


@pytest.mark.parametrize("name", [name for name in theory.__all__ if callable(getattr(theory, name))])
def test_a_definition_is_documented(name: str) -> None:
    documented = inspect.getdoc(getattr(theory, name))
    assert documented and not documented.startswith(f"{name}(")  # not the signature that dataclasses write


def test_the_summary_names_what_exists() -> None:
    named = set(re.findall(r"(?<!`)`(\w+)`(?!`)", inspect.getdoc(theory) or ""))
    assert len(named) > 20
    assert named <= set(theory.__all__)
