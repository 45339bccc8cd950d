"""The tables, views and settings of a file of Spark's tests, as its statements make them one after the other."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

import pyarrow as pa

from livejoin import Database
from livejoin.database.difference import types_of
from livejoin.errors import LivejoinError
from livejoin.schema import SqlType

from .settings import other_meaning

_NAME = r"(?P<name>`[^`]+`|[\w.]+)"
_IN_PARENTHESES = r"(?P<columns>\((?:[^()]|\([^()]*\))*\))?"
_AS_VIEW = re.compile(
    r"CREATE\s+(?:OR\s+REPLACE\s+)?(?:GLOBAL\s+)?(?P<temporary>TEMP(?:ORARY)?\s+)?VIEW\s+(?:IF\s+NOT\s+EXISTS\s+)?"
    rf"{_NAME}\s*{_IN_PARENTHESES}(?:\s*COMMENT\s+'[^']*')?\s*AS\b(?P<query>.*)",
    re.I | re.S,
)
_CREATE = re.compile(
    rf"CREATE\s+(?:OR\s+REPLACE\s+)?TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?{_NAME}\s*{_IN_PARENTHESES}"
    r"(?P<rest>.*?)(?:\bAS\b(?P<query>.*))?",
    re.I | re.S,
)
_INSERT = re.compile(
    rf"INSERT\s+INTO\s+(?:TABLE\s+)?{_NAME}\s*(?:\((?P<columns>[\w\s,`]+)\))?\s*"
    r"(?P<query>(?:VALUES|SELECT|WITH|TABLE|\().*)",
    re.I | re.S,
)
_DROP = re.compile(rf"DROP\s+(?:TABLE|VIEW)\s+(?:IF\s+EXISTS\s+)?{_NAME}\s*", re.I)
_CACHE = re.compile(rf"CACHE\s+(?:LAZY\s+)?TABLE\s+{_NAME}\s*(?:AS\b)?(?P<query>.+)", re.I | re.S)
_SHOW = re.compile(r"(?:SHOW|DESC|DESCRIBE|EXPLAIN|ANALYZE|REFRESH|UNCACHE|MSCK)\b.*", re.I | re.S)
_USE = re.compile(r"USE\s+(?:SCHEMA\s+|DATABASE\s+)?(?P<name>\S+)", re.I)
_SET = re.compile(r"(?:--)?SET\s+(?P<name>spark\.[\w.$]+)\s*=\s*(?P<value>.*)", re.I | re.S)
_QUERY = re.compile(r"[\s(]*(?:SELECT|WITH|VALUES|FROM|TABLE)\b", re.I)


@dataclass(frozen=True)
class Table:
    """A table with its rows.

    Args:
        columns: Their declarations.
        rows: The rows.
    """

    columns: tuple[str, ...]
    rows: pa.Table


@dataclass(frozen=True)
class View:
    """A view over other relations.

    Args:
        query: Its query.
        setting: The setting by which it means another thing than by Spark's defaults; None if there is none.
        is_kept: Whether it outlives its session. Then it keeps the columns that its tables had.
    """

    query: str
    setting: str | None = None
    is_kept: bool = False


@dataclass(frozen=True)
class Absent:
    """A relation that the tests have, and that could not be made: why."""

    reason: str


Relation = Table | View | Absent


@dataclass
class Session:
    """What the statements so far have made.

    Args:
        settings: The settings, by name.
        relations: The relations, by their name in lower case.
        schema: The schema that names without one are of.
    """

    settings: dict[str, str] = field(default_factory=dict)
    relations: dict[str, Relation] = field(default_factory=dict)
    schema: str = "default"

    def run(self, sql: str) -> None:
        """Run a statement that is no query."""
        text = without_comments(sql)
        if found := _AS_VIEW.fullmatch(text):
            relation = self._of_query(_renamed(found["query"], found["columns"]))
            is_kept = found["temporary"] is None
            self._add(found["name"], replace(relation, is_kept=is_kept) if isinstance(relation, View) else relation)
        elif found := _SET.fullmatch(text):
            self.settings[found["name"]] = found["value"].strip()
        elif found := _CACHE.fullmatch(text):
            if found["query"].strip():
                self._add(found["name"], self._of_query(found["query"]))
        elif found := _CREATE.fullmatch(text):
            self._create(found)
        elif found := _INSERT.fullmatch(text):
            self._insert(found)
        elif found := _DROP.fullmatch(text):
            self.relations.pop(_key(found["name"]), None)
        elif found := _USE.fullmatch(text):
            self.schema = found["name"].strip("`").lower()
        elif not _SHOW.fullmatch(text):
            word = text.split()[0].upper() if text else ""
            for name in self.named(text):
                if not isinstance(self.relations[name], View):
                    self.relations[name] = Absent(f"changed by {word}")

    def named(self, sql: str, but: frozenset[str] = frozenset()) -> list[str]:
        """The relations that a text names, and those that these read, each behind those that it reads.

        Args:
            sql: The text. A word of it may be a relation's name, and mean a column: then one too many is made.
            but: Relations that it cannot name, as a view its own.
        """
        words = _words(sql)
        found: list[str] = []
        for name, relation in self.relations.items():
            if name in words and name not in but:
                below = self.named(relation.query, but | {name}) if isinstance(relation, View) else []
                found += [one for one in [*below, name] if one not in found]
        return found

    def filled(self, names: list[str]) -> Database:
        """A database with these relations and their rows."""
        database = self.empty(names)
        for name in names:
            relation = self.relations[name]
            if isinstance(relation, Table) and relation.rows.num_rows:
                database.apply(name, relation.rows)
        return database

    def empty(self, names: list[str]) -> Database:
        """A database with these relations, without rows."""
        database = Database()
        for name in names:
            match self.relations[name]:
                case Table(columns, _):
                    database.create_table(name, ", ".join(columns))
                case View(query):
                    database.create_view(name, query, allow_product=True)
                case Absent():
                    pass
        return database

    def _add(self, name: str, relation: Relation) -> None:
        if "." in name or self.schema != "default":
            relation = Absent("it is in a schema of its own")
        key = _key(name)
        for other, view in self.relations.items():
            if isinstance(view, View) and view.is_kept and other != key and key in _words(view.query):
                self.relations[other] = Absent("a view over a relation that is another one now")
        self.relations.pop(key, None)
        self.relations[key] = relation

    def _of_query(self, query: str) -> Relation:
        query = query.strip().rstrip(";")
        names = self.named(query)
        for name in names:
            if isinstance(self.relations[name], Absent):
                return self.relations[name]
        if names:
            return View(query, other_meaning(self.settings))
        try:
            return self._evaluated(query)
        except LivejoinError as error:
            return Absent(str(error).splitlines()[0])

    def _evaluated(self, query: str) -> Table:
        """What a query gives now, as a table."""
        if re.match(r"\s*VALUES\b", query, re.I):
            query = f"SELECT * FROM {query}"
        database = self.filled(self.named(query))
        view = database.create_view("made rows", query, allow_product=True)
        rows = view.to_arrow()
        declared = tuple(
            f"`{field.name.replace('`', '``')}` {_declared(kind, field.type)}"
            for field, kind in zip(rows.schema, types_of(database, view.name), strict=True)
        )
        return Table(declared, rows)

    def _create(self, found: re.Match[str]) -> None:
        if found["query"] is not None:
            relation = self._of_query(found["query"])
            self._add(found["name"], self._tried(relation.query) if isinstance(relation, View) else relation)
        elif "PARTITIONED" in found["rest"].upper():
            self._add(found["name"], Absent("a partitioned table"))
        else:
            self._add(found["name"], _declared_table((found["columns"] or "()")[1:-1]))

    def _tried(self, query: str) -> Relation:
        try:
            return self._evaluated(query)
        except LivejoinError as error:
            return Absent(str(error).splitlines()[0])

    def _insert(self, found: re.Match[str]) -> None:
        key = _key(found["name"])
        table = self.relations.get(key)
        if not isinstance(table, Table):
            return
        given = self._tried(found["query"].strip())
        if isinstance(given, Absent):
            self.relations[key] = given
            return
        assert isinstance(given, Table)
        names = table.rows.column_names
        listed = re.findall(r"\w+", found["columns"]) if found["columns"] else names[: given.rows.num_columns]
        places = {name.lower(): place for place, name in enumerate(listed)}
        sources = [f"v{places[name.lower()]}" if name.lower() in places else "NULL" for name in names]
        casts = ", ".join(
            f"CAST({source} AS {_type_of(column)}) AS `{name}`"
            for source, name, column in zip(sources, names, table.columns, strict=True)
        )
        given_columns = ", ".join(f"v{place} {_type_of(column)}" for place, column in enumerate(given.columns))
        database = Database()
        try:
            database.create_table("given", given_columns)
            database.apply("given", given.rows.rename_columns([f"v{place}" for place in range(len(given.columns))]))
            rows = database.create_view("stored", f"SELECT {casts} FROM given").to_arrow()
        except LivejoinError as error:
            self.relations[key] = Absent(str(error).splitlines()[0])
            return
        self.relations[key] = Table(table.columns, pa.concat_tables([table.rows, rows.cast(table.rows.schema)]))


def _declared_table(columns: str) -> Relation:
    """An empty table by its declaration."""
    declared = tuple(
        re.sub(r"\s+(?:COMMENT\s+'[^']*'|DEFAULT\b.*|GENERATED\b.*)", "", part, flags=re.I | re.S).strip()
        for part in re.findall(r"(?:[^,(<]|\([^)]*\)|<.*>)+", columns)
    )
    try:
        database = Database()
        database.create_table("made", ", ".join(declared))
        return Table(declared, database.create_view("rows", "SELECT * FROM made").to_arrow())
    except LivejoinError as error:
        return Absent(str(error).splitlines()[0])


def _type_of(declaration: str) -> str:
    """The type in the declaration of a column."""
    kind = re.match(r"(?:`(?:[^`]|``)+`|\S+)\s+(.*)", declaration, re.S)
    assert kind is not None
    return re.sub(r"\s+(?:NOT\s+NULL|PRIMARY\s+KEY)\b.*", "", kind[1], flags=re.I)


def without_comments(sql: str) -> str:
    """A statement without comments, which may stand within no text here."""
    kept = re.sub(
        r"('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`)|--[^\n]*|/\*.*?\*/", lambda m: m[1] or " ", sql, flags=re.S
    )
    return kept.strip().rstrip(";")


def is_query(sql: str) -> bool:
    """Whether a statement is a query, by its first word; WITH and FROM may also begin an insertion."""
    text = without_comments(sql)
    return bool(_QUERY.match(text)) and not re.search(r"\bINSERT\s+(?:INTO|OVERWRITE)\b", text, re.I)


def _words(sql: str) -> set[str]:
    return {word.lower() for word in re.findall(r"\w+", sql)}


def _key(name: str) -> str:
    return name.strip("`").rsplit(".", 1)[-1].lower()


def _renamed(query: str, columns: str | None) -> str:
    """A query whose columns have the names in parentheses, without their comments."""
    if columns is None:
        return query
    names = [part.split()[0] for part in columns[1:-1].split(",")]
    if re.match(r"\s*VALUES\b", query, re.I):
        return f"SELECT * FROM {query} AS renamed({', '.join(names)})"
    return f"SELECT * FROM ({query}) AS renamed({', '.join(names)})"


def _declared(kind: SqlType, arrow: pa.DataType) -> str:
    """A type as CREATE TABLE has it; that of a list which was made is that of its items here."""
    if kind.kind != "array" and pa.types.is_list(arrow):
        return f"ARRAY<{_declared(kind, arrow.value_type)}>"
    return str(kind)
