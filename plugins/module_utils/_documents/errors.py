# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Describe the problems of a document with their places, in text that is safe to print. Standard library only."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from .._model.run import KafkaOpsError

MAX_PROBLEMS = 1000
"""The search for problems stops here: nobody reads more, and it limits the memory."""
SHOWN_PROBLEMS = 20


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem of a document, for the person who has to correct it."""

    place: str
    """JSON pointer (RFC 6901; "" is the whole document), or "line 3, column 7" if the text is not valid JSON."""
    message: str
    """What was found, and what is expected."""
    remedy: str

    @property
    def described(self) -> str:
        """The message and the remedy, as two sentences."""
        return f"{self.message}. {self.remedy}"

    def __str__(self) -> str:
        return f"{self.place or 'whole document'}: {self.described}"


class DocumentError(KafkaOpsError):
    """A document is refused, with every problem that was found in it.

    ``path`` is the file's path, or the name of a value that does not come from a file. The message shows the first
    ``SHOWN_PROBLEMS``; ``problems`` has up to ``MAX_PROBLEMS``.
    """

    def __init__(self, path: str, problems: Iterable[Problem]) -> None:
        self.path = path
        self.problems = tuple(problems)
        super().__init__(path, self.problems)

    def __str__(self) -> str:
        count = len(self.problems)
        if count == 1:
            (problem,) = self.problems
            return f"{self.path} is refused{f' at {problem.place}' if problem.place else ''}: {problem.described}"
        at_least = "at least " if count >= MAX_PROBLEMS else ""
        head = f"{self.path} is refused: {at_least}{count} problems"
        lines = [head, *(f"  {problem}" for problem in self.problems[:SHOWN_PROBLEMS])]
        if count > SHOWN_PROBLEMS:
            lines.append(f"  and {at_least}{count - SHOWN_PROBLEMS} more")
        return "\n".join(lines)


def raise_if_problems(path: str, problems: Iterable[Problem]) -> None:
    """Raise DocumentError with the first ``MAX_PROBLEMS`` problems, if there are any."""
    found = tuple(islice(problems, MAX_PROBLEMS))
    if found:
        raise DocumentError(path, found)


_SHOWN_CHARACTERS = 60


def pointer(*tokens: str | int) -> str:
    """Return the JSON pointer (RFC 6901) for these tokens. Without tokens it is "", the whole document.

    Keys come from untrusted files: characters that cannot be printed are escaped as in JSON, and long keys are cut.
    """
    return "".join(f"/{_token(token)}" for token in tokens)


def _token(token: str | int) -> str:
    if isinstance(token, int):
        return str(token)
    return _clipped(json.dumps(token)[1:-1]).replace("~", "~0").replace("/", "~1")


def show_value(value: object) -> str:
    """Return a value as JSON, in ASCII (no escape sequence reaches a terminal) and cut to a readable length."""
    match value:
        case list() | dict():
            empty = json.dumps(type(value)())
            return f"{empty[0]}...{empty[1]}" if value else empty
        case str():
            # Cut first, because encoding 60 MB would be slow.
            return _clipped(json.dumps(value[: _SHOWN_CHARACTERS + 1]))
        case _:
            return _clipped(json.dumps(value, default=repr))


def describe_kind(value: object) -> str:
    """Return text about a value's JSON type, to follow the value in a sentence."""
    match value:
        case None:
            return "is not a value"
        case bool():
            return "is a truth value"
        case int():
            return "is an integer"
        case float():
            return "is a decimal number"
        case str():
            return "is a string"
        case list():
            return "is a list"
        case dict():
            return "is an object"
        case _:
            return f"is of type {type(value).__name__}"


def join_words(words: Iterable[object]) -> str:
    """Join words like ``1, 2 and 3``. Return "none" if there are no words."""
    *most, last = [*map(str, words)] or ["none"]
    return f"{', '.join(most)} and {last}" if most else last


def _clipped(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."
