"""What there is to say of a query before it is maintained: over the tables and rows that a database holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from livejoin.catalog import Catalog
from livejoin.changes import ChangeBatch, read_changes
from livejoin.database.arguments import check_changes, check_limit, check_switch
from livejoin.database.contents import Contents
from livejoin.database.statements.views import ViewSettings
from livejoin.dataflow.measured import samples_of_log
from livejoin.families.registry import check_algorithm
from livejoin.plan import Explanation, describe_query
from livejoin.plan.explain.describing.query import Present
from livejoin.plan.explain.describing.spread import with_cells
from livejoin.plan.explain.effects.figures import Figures
from livejoin.plan.explain.suggestions.not_null import with_not_null
from livejoin.plan.explain.suggestions.supposed import Supposed, supposing
from livejoin.plan.explain.suggestions.worth import verdict_of, with_what_helps
from livejoin.plan.query_plan import refuse_cells
from livejoin.query.bound_query import Query
from livejoin.sql import bind_query


def explain_query(
    contents: Contents,
    sql: str,
    settings: ViewSettings,
    log: Mapping[str, object] | None,
    cells: int | None,
    suppose: Sequence[Mapping[str, object]] = (),
) -> Explanation:
    """As `livejoin.Database.explain` of a query; nothing is planned that a view with the settings would not have."""
    deltas, algorithm, allow_product = settings.deltas, settings.algorithm, settings.allow_product
    check_algorithm(algorithm)
    check_switch(deltas, "deltas")
    check_switch(allow_product, "allow_product")
    if cells is not None:
        refuse_cells(algorithm, cells, f"cells={cells} is asked for")
    if log is not None:
        log = check_changes(log, "{'G': changes}")
    catalog, queries = _supposing(contents, suppose) if suppose else (contents.catalog, contents.queries)
    query = bind_query(sql, catalog, queries, allow_product)
    known = contents.known(query, settings.statistics, check_limit(settings.preprocessing_limit))
    changes = _read(contents, log) if log else None
    threads, present = contents.workers.threads, contents.graph.present(query)
    if changes:
        present = replace(present, samples={**samples_of_log(query, changes), **present.samples})
    if suppose:
        present = Present(
            samples=present.samples, evaluate=present.evaluate
        )  # rows of static tables are left out as these are declared now
    found = with_not_null(
        describe_query(query, known, deltas, changes, algorithm, threads, present=present),
        query,
        catalog,
        lambda other: bind_query(sql, other, queries, allow_product),
        lambda other: describe_query(other, known, deltas, None, algorithm, threads),
    )
    figures = Figures(known, present.samples, present.evaluate)
    found = with_what_helps(
        found,
        catalog,
        lambda other: bind_query(sql, other, queries, allow_product),
        lambda other: verdict_of(other, known, deltas, algorithm, threads, figures),
    )
    return found if cells is None else with_cells(found, query, changes or (), cells, catalog)


def _supposing(contents: Contents, suppose: Sequence[Mapping[str, object]]) -> tuple[Catalog, dict[str, Query]]:
    """The tables, and the queries of the views over them, as if the tables were declared so."""
    catalog = supposing(contents.catalog, map(Supposed.of, suppose))
    queries: dict[str, Query] = {}
    for name, query in contents.queries.items():
        queries[name] = bind_query(query.sql, catalog, queries, allow_product=True)
    return catalog, queries


def _read(contents: Contents, log: Mapping[str, object]) -> list[ChangeBatch]:
    """The changes of a log, one batch a table; several tables need ``_seq``."""
    return [read_changes(contents.catalog[name], data, len(log) > 1, "never") for name, data in log.items()]
