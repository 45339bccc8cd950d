"""What there is to say about a query and its plan, as frozen plain values for whatever shows it.

Nothing here computes; `livejoin.plan` fills an `Explanation`, which can show itself as text, JSON, SVG and HTML. All
atoms are named by their aliases, all columns by the query's variables.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from livejoin.families.family import SearchOutline
from livejoin.families.outline import AtomOutline, PlanOutline
from livejoin.plan.explain import verdict
from livejoin.plan.explain.diagram.diagram import NO_DIAGRAM, Diagram
from livejoin.plan.explain.effects.effect import Effect
from livejoin.plan.explain.forms import json_record as record
from livejoin.plan.explain.forms import picture, text
from livejoin.plan.explain.memory.outline import Memory
from livejoin.plan.explain.suggestions.supposed import Supposed
from livejoin.plan.stages import SpreadOutline
from livejoin.search.guarantee import Guarantee
from livejoin.search.statistics import Known

QueryClassName = Literal["q-hierarchical", "free-connex", "acyclic", "cyclic"]
SuggestionKind = Literal[
    "output column",
    "all columns",
    "primary key",
    "foreign key",
    "static table",
    "append-only table",
    "not null",
    "shape",
]


@dataclass(frozen=True)
class Property:
    """Whether a query is in a class, and what shows it.

    Args:
        name: The class, for example ``free-connex``.
        holds: Whether the query is in it.
        because: The witness in one plain sentence.
        atoms: Aliases of the witness's atoms.
        variables: The witness's variables.
    """

    name: str
    holds: bool
    because: str
    atoms: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()


@dataclass(frozen=True)
class QueryClass:
    """The class of a query.

    Args:
        name: The smallest of the classes q-hierarchical < free-connex < acyclic < cyclic that it is in.
        properties: All classes that were tested, each with its witness: acyclic, free-connex, hierarchical and
            q-hierarchical; with foreign keys also foreign-key acyclic; with static tables also well-behaved.
        width: Fractional hypertree width of the best decomposition found, as text such as ``3/2``; ``1`` if acyclic.
    """

    name: QueryClassName
    properties: tuple[Property, ...]
    width: str = "1"

    def __getitem__(self, name: str) -> Property:
        return next(p for p in self.properties if p.name == name)


@dataclass(frozen=True)
class Alternative:
    """A plan that was compared with the others, the chosen one included.

    Args:
        title: The kind of the plan, in words.
        tree: The tree on one line, for example ``[b]{A, B{C}}``.
        guarantee: The guarantee of the plan.
        cost: Sum over the nodes of depth times expected changes.
        height: The height of the tree.
        propagation: The rows that a change is predicted to visit, its own among them.
        touches: The records and keys that it is predicted to touch, by which plans of two kinds are compared.
        executable: Whether this version runs it.
        obstacle: The reason why not; empty if it does.
        chosen: Whether it is the plan.
    """

    title: str
    tree: str
    guarantee: Guarantee
    cost: float
    height: int
    propagation: float
    touches: float
    executable: bool
    obstacle: str
    chosen: bool


@dataclass(frozen=True)
class Suggestion:
    """Something that would make the guarantee better, found by trying it.

    Args:
        kind: The sort of change.
        text: The advice, in one plain sentence.
        sql: A clause to add or to change, where there is one; else empty.
        guarantee: The guarantee that the best plan would have.
        executable: Whether this version would run that plan.
        supposed: The declarations that it is; empty where it is a change of the query.
    """

    kind: SuggestionKind
    text: str
    sql: str
    guarantee: Guarantee
    executable: bool
    supposed: tuple[Supposed, ...] = ()


@dataclass(frozen=True)
class TableOutline:
    """What is known of a table and what the plan keeps of it.

    Args:
        name: The table.
        columns: The columns kept.
        aliases: The atoms over it.
        row_bytes: Bytes of a row's record.
        index_bytes: Predicted bytes of its share of the indexes.
        changes: Expected changes of the table relative to the others.
        changes_known: The source of that figure.
        rows: The rows of the table, None if unknown.
        rows_known: The source of that figure.
        kept: The rows of a static table that can be part of a result, of which alone the state has records; None of
            other tables, and where nothing is left out.
    """

    name: str
    columns: tuple[str, ...]
    aliases: tuple[str, ...]
    row_bytes: int
    index_bytes: float
    changes: float | None
    changes_known: Known
    rows: float | None
    rows_known: Known
    kept: int | None = None


@dataclass(frozen=True)
class LogOutline:
    """What a change log says about the plan.

    Args:
        changes: Changes in the log.
        lifespans: Rows that it lets live, each time they are inserted counted.
        pattern: ``insertion-only``, ``deletion-only``, ``first-in-first-out``, ``first-in-last-out`` or ``mixed``.
        enclosure: lambda(S), the average enclosureness (CROWN, Definition 6.1).
        largest: The largest enclosureness of a row.
        tree_enclosure: lambda_T(S) with respect to the plan's tree (CROWN, Definition 6.4), None without a tree.
        tree_largest: The largest for a row, None without a tree.
        crossing_enclosure: The same with crossing lifespans, which bounds the work on trees where an atom below another
            one has two children (docs/decisions/0007); None for other trees.
        crossing_largest: The largest for a row, None for other trees.
    """

    changes: int
    lifespans: int
    pattern: str
    enclosure: float
    largest: int
    tree_enclosure: float | None
    tree_largest: int | None
    crossing_enclosure: float | None = None
    crossing_largest: int | None = None


@dataclass(frozen=True)
class CellsOutline:
    """How a join is split among threads.

    Args:
        number: Cells; 1 if it cannot be split.
        variable: The variable whose values split it, None if it is not split.
        replicated: Aliases of the atoms whose rows are in every cell.
        replicated_bytes: Predicted bytes of these in each cell after the first, at most; None if unknown.
        note: The same in one sentence, and why it is not split.
    """

    number: int
    variable: str | None
    replicated: tuple[str, ...]
    replicated_bytes: float | None
    note: str


@dataclass(frozen=True, repr=False)
class Explanation:
    """Everything to be shown about a query and its plan; ``print`` shows it as text, a notebook as a page.

    Args:
        sql: The query's text.
        atoms: The atoms of the query.
        output: The free variables of the query.
        query_class: The class of the query, with witnesses.
        plan: The plan that runs.
        guarantee: The guarantee of the plan.
        executable: Whether this version runs it.
        obstacle: The reason why not; empty if it does.
        reason: Why this plan, in one or two sentences.
        alternatives: The best plan of each kind and the next best trees, best first.
        search: How far the search went.
        suggestions: Changes that would give a better bound, best first; empty if nothing was found.
        tables: Figures of each table, and what is kept of it.
        deltas: Whether the view would say what changed.
        digest: The physical plan's fingerprint; empty if the plan is not executable.
        log: Figures of a change log, None without one.
        operators: The operators above the join, from the join upwards.
        others: Explanations of the query's other joins.
        cells: How the join is split, None with one thread.
        names: The note that columns got numbers behind equal names; empty if none did.
        whole: The cost of a change that goes through several blocks; empty for a single one.
        beside: The cost of the delta beside the bound, in plain words; empty for most queries.
        spread: How the query runs in cells of processes, None if that was not asked.
        effects: The effect of one change of each table, the costliest first; of the whole query alone.
        alone: The promise for the join without what is stored above it; None if nothing is.
        diagram: The whole query as boxes and lines; empty of the parts of one.
        asserted: The sentence that says what the query asserts by having no rows; empty if it asserts nothing.
        begins: The sentence that says from when on the view has windows; empty if it has them all.
        nulls: The sentences that say where one NULL empties the result; empty where none does.
        product: The sentence that says that no condition connects some tables; empty where all are connected.
        change_types: The change types of rows in the view's deltas, in a sentence; empty of the parts of a query, and
            without deltas.
        memory: The memory that it is expected to take, by block; of the whole query alone.
    """

    sql: str
    atoms: tuple[AtomOutline, ...]
    output: tuple[str, ...]
    query_class: QueryClass
    plan: PlanOutline
    guarantee: Guarantee
    executable: bool
    obstacle: str
    reason: str
    alternatives: tuple[Alternative, ...]
    search: SearchOutline
    suggestions: tuple[Suggestion, ...]
    tables: tuple[TableOutline, ...]
    deltas: bool
    digest: str
    log: LogOutline | None = None
    operators: tuple[str, ...] = ()
    others: tuple[Explanation, ...] = ()
    cells: CellsOutline | None = None
    names: str = ""
    whole: str = ""
    beside: str = ""
    spread: SpreadOutline | None = None
    effects: tuple[Effect, ...] = ()
    alone: Guarantee | None = None
    diagram: Diagram = NO_DIAGRAM
    asserted: str = ""
    begins: str = ""
    product: str = ""
    nulls: str = ""
    change_types: str = ""
    memory: Memory | None = None

    @property
    def verdict(self) -> str:
        """What a change costs, in plain words: the first lines of every form."""
        return verdict.verdict(self)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<Explanation: {self.query_class.name}, {self.guarantee.bound.formula} a change; print() shows it all>"

    def text(self, width: int = text.WIDTH) -> str:
        """All of it as plain text, in lines of about ``width`` characters."""
        return text.text(self, width)

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON values, with the keys that ``docs/explain.md`` lists."""
        return record.record(self)

    def json(self) -> str:
        """All of it as a JSON text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)

    def svg(self, terms: bool = False) -> str:
        """A picture of the query, as an SVG element that is also a file.

        Args:
            terms: Whether it is the plan in the papers' words instead: the tree, its keys, views and connex subtree.
        """
        return picture.picture(self, terms)

    def html(self) -> str:
        """All of it as a whole HTML document."""
        return picture.document(self)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return picture.page(self)
