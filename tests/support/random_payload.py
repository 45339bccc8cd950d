"""Random types of payload, values of them, and what makes two values equal."""

from __future__ import annotations

import math
import random
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from livejoin.schema import SqlType

SINGLE: tuple[tuple[SqlType, tuple[Any, ...]], ...] = (
    (SqlType("boolean"), (True, False)),
    (SqlType.integer(8), (0, -128, 127)),
    (SqlType.integer(64), (0, 1, -(2**63))),
    (SqlType.real(), (0.0, -0.0, 1.5, math.nan)),
    (SqlType("double"), (0.0, -0.0, 0.1, math.nan, -math.inf)),
    (SqlType.decimal(5, 2), (Decimal("0.00"), Decimal("-1.50"))),
    (SqlType.decimal(38, 4), (Decimal("1.0000"), Decimal("-9999999999999999999999999999999999.9999"))),
    (SqlType("date"), (date(1970, 1, 1), date(2024, 2, 29))),
    (SqlType("timestamp"), (datetime(1970, 1, 1), datetime(1901, 1, 1, 0, 0, 0, 1))),
    (SqlType("string"), ("", "a", "äöü€")),
    (SqlType("binary"), (b"", b"\xff\x00", b"a")),
)
_VALUES = dict(SINGLE)


def random_type(chosen: random.Random, depth: int = 2) -> SqlType:
    """A type of payload, of which parts may be payload again."""

    def part() -> SqlType:
        return random_type(chosen, depth - 1) if depth and chosen.random() < 0.4 else chosen.choice(SINGLE)[0]

    match chosen.randrange(8):
        case 0 | 1 | 2:
            return SqlType.array(part())
        case 3 | 4:
            return SqlType.struct([(name, part()) for name in ("x", "y z", "Ä")[: chosen.randint(1, 3)]])
        case 5 | 6:
            key = part()
            fits = not any(within.kind in ("map", "variant") for within in key.parts())
            return SqlType.map(key if fits else SINGLE[1][0], part())
        case _:
            return SqlType("variant")


def random_value(chosen: random.Random, kind: SqlType, nulls: float = 0.2) -> Any:
    """A value of a type as a Python object."""
    if chosen.random() < nulls:
        return None
    inner = [part for _, part in kind.inner]
    match kind.kind:
        case "array":
            return [random_value(chosen, inner[0]) for _ in range(chosen.randrange(4))]
        case "struct":
            return {name: random_value(chosen, part) for name, part in kind.inner}
        case "map":
            found = {}
            for _ in range(chosen.randrange(4)):
                key = random_value(chosen, inner[0], 0.0)
                found[canonical(key, inner[0])] = (key, random_value(chosen, inner[1]))
            return list(found.values())
        case "variant":
            return {name: random_value(chosen, SqlType("binary"), 0.0) for name in ("value", "metadata")}
        case _:
            return chosen.choice(_VALUES[kind])


def canonical(value: Any, kind: SqlType) -> str:
    """A text that two values have in common iff they are equal."""
    if value is None:
        return "NULL"
    inner = [part for _, part in kind.inner]
    match kind.kind:
        case "array":
            return f"[{', '.join(canonical(one, inner[0]) for one in value)}]"
        case "struct":
            return f"({', '.join(canonical(value[name], part) for name, part in kind.inner)})"
        case "map":
            return f"{{{', '.join(sorted(f'{canonical(k, inner[0])}: {canonical(v, inner[1])}' for k, v in value))}}}"
        case "variant":
            return f"{value['value']!r} {value['metadata']!r}"
        case "double":
            return repr(value + 0.0)
        case _:
            return repr(value)
