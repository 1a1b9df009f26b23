# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Name what is wrong with a document, and where, in words that are safe to print. Standard library only."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from .._model.run import KafkaOpsError

MAX_PROBLEMS = 1000
"""Looking for problems stops here: nobody reads more, and the memory they take stays bounded."""
SHOWN_PROBLEMS = 20


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, for the person who has to put it right."""

    place: str
    """JSON pointer (RFC 6901; "" is the whole document), or "line 3, column 7" where the text is not JSON yet."""
    message: str
    """What was found, and what should be there."""
    remedy: str

    def __str__(self) -> str:
        return f"{self.place or 'whole document'}: {self.message}. {self.remedy}"


class DocumentError(KafkaOpsError):
    """A document that is refused, with every problem that was found in it.

    ``path`` is the file's path, or what the value is called where it did not come from a file.
    The message shows the first ``SHOWN_PROBLEMS``; ``problems`` holds up to ``MAX_PROBLEMS``.
    """

    def __init__(self, path: str, problems: Iterable[Problem]) -> None:
        self.path = path
        self.problems = tuple(problems)
        super().__init__(path, self.problems)

    def __str__(self) -> str:
        count = len(self.problems)
        at_least = "at least " if count >= MAX_PROBLEMS else ""
        head = f"{self.path} is refused: {at_least}{count} {'problem' if count == 1 else 'problems'}"
        lines = [head, *(f"  {problem}" for problem in self.problems[:SHOWN_PROBLEMS])]
        if count > SHOWN_PROBLEMS:
            lines.append(f"  and {at_least}{count - SHOWN_PROBLEMS} more")
        return "\n".join(lines)


def raise_if_problems(path: str, problems: Iterable[Problem]) -> None:
    """Raise DocumentError when there are problems, with the first ``MAX_PROBLEMS`` of them."""
    found = tuple(islice(problems, MAX_PROBLEMS))
    if found:
        raise DocumentError(path, found)


_SHOWN_CHARACTERS = 60


def pointer(*tokens: str | int) -> str:
    """Return the JSON pointer (RFC 6901) of a place; no tokens make "", the whole document.

    Keys come from untrusted files: what cannot be printed is escaped as in JSON, and what is very long is cut.
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
            # Cut first: to quote 60 MB for the sake of 60 characters would take a while.
            return _clipped(json.dumps(value[: _SHOWN_CHARACTERS + 1]))
        case _:
            return _clipped(json.dumps(value, default=repr))


def describe_kind(value: object) -> str:
    """Say what a value is, to follow it in a sentence."""
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
    """Join words as ``1, 2 and 3``; "none" for no words."""
    *most, last = [*map(str, words)] or ["none"]
    return f"{', '.join(most)} and {last}" if most else last


def _clipped(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."
