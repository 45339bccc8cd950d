"""An aggregate by itself, as ``AVG(price * amount)``: the function, and what it is of."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import TokenType

from livejoin.sql.parse.parse import tokenized

_FUNCTIONS = ("avg", "sum", "count", "count_if")


@dataclass(frozen=True)
class Aggregated:
    """An aggregate of rows.

    Args:
        function: The function: ``avg``, ``sum``, ``count`` or ``count_if``.
        argument: The expression or the condition, as SQL; ``*`` for rows.
    """

    function: str
    argument: str

    @property
    def counts_all(self) -> bool:
        """Whether it is the number of rows."""
        return self.argument == "*"

    @property
    def is_count(self) -> bool:
        """Whether each row counts as 0 or 1."""
        return self.function in ("count", "count_if")

    @property
    def number(self) -> str:
        """What a row adds, as an SQL expression of a DOUBLE; of an average NULL adds nothing."""
        match self.function:
            case "avg":
                return f"CAST(({self.argument}) AS DOUBLE)"
            case "sum":
                return f"COALESCE(CAST(({self.argument}) AS DOUBLE), 0D)"
            case "count":
                return f"CASE WHEN ({self.argument}) IS NULL THEN 0D ELSE 1D END"
            case _:
                return f"CASE WHEN ({self.argument}) THEN 1D ELSE 0D END"


def aggregated(text: str) -> Aggregated:
    """Read an aggregate.

    Raises:
        UnsupportedQueryError: The text is something else, or another aggregate.

    >>> aggregated("AVG(price * amount)")
    Aggregated(function='avg', argument='price * amount')
    >>> aggregated("COUNT(*)").counts_all
    True
    """
    source = tokenized(text)
    tokens = source.tokens
    depth = 0
    for place, token in enumerate(tokens[1:], 1):
        depth += (token.token_type == TokenType.L_PAREN) - (token.token_type == TokenType.R_PAREN)
        if not depth:
            is_whole = place == len(tokens) - 1 > 2
            break
    else:
        is_whole = False
    name = tokens[0].text.lower() if tokens else ""
    is_distinct = len(tokens) > 2 and tokens[2].text.upper() == "DISTINCT"
    argument = source.sql[tokens[1].end + 1 : tokens[-1].start].strip() if is_whole else ""
    if name not in _FUNCTIONS or not argument or is_distinct or (argument == "*" and name != "count"):
        msg = (
            f"{text!r:.80} cannot be estimated from draws; allowed are AVG(x), SUM(x), COUNT(*), COUNT(x) and "
            "COUNT_IF(condition), without DISTINCT"
        )
        raise source.unsupported("estimate", msg, 0)
    return Aggregated(name, argument)
