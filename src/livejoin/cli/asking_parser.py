"""A parser of arguments that asks whether another word was meant."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import Any, NoReturn

from livejoin.shown import meant

_CHOICE = re.compile(r"invalid choice: '(?P<found>[^']*)' \(choose from (?P<known>.*)\)")


class AskingParser(argparse.ArgumentParser):
    """A parser whose errors name the word that was meant; so do those of its commands.

    >>> parser = AskingParser(prog="p", exit_on_error=False)
    >>> _ = parser.add_argument("--fresh")
    >>> try:
    ...     parser.parse_args(["--fesh"])
    ... except SystemExit as error:
    ...     error.code
    2
    """

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        """Parse the arguments; those that are not known are an error of this command, whose usage is shown."""
        found, rest = super().parse_known_args(args, namespace)
        if rest:
            hint = meant(rest[0].partition("=")[0], self._option_string_actions)
            self.error(f"unrecognized arguments: {' '.join(rest)}{hint}")
        return found, rest

    def error(self, message: str) -> NoReturn:
        """Print the usage and the message, and end."""
        choice = _CHOICE.search(message)
        if choice is not None:
            message += meant(choice["found"], re.findall(r"[\w-]+", choice["known"]))
        super().error(message)
