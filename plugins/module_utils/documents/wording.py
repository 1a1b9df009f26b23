# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Names of places in a JSON document, and values of it, in words that are safe to print. Standard library only."""

from __future__ import annotations

import json
from collections.abc import Iterable

_SHOWN_CHARACTERS = 60


def pointer(*tokens: str | int) -> str:
    """The JSON pointer (RFC 6901) of a place; no tokens make "", the whole document.

    Keys come from untrusted files: what cannot be printed is escaped as in JSON, and what is very long is cut.
    """
    return "".join(f"/{_token(token)}" for token in tokens)


def _token(token: str | int) -> str:
    if isinstance(token, int):
        return str(token)
    return _clipped(json.dumps(token)[1:-1]).replace("~", "~0").replace("/", "~1")


def shown(value: object) -> str:
    """A value as JSON, in ASCII (no escape sequence reaches a terminal) and cut to a readable length."""
    match value:
        case list() | dict():
            empty = json.dumps(type(value)())
            return f"{empty[0]}...{empty[1]}" if value else empty
        case str():
            # Cut first: to quote 60 MB for the sake of 60 characters would take a while.
            return _clipped(json.dumps(value[: _SHOWN_CHARACTERS + 1]))
        case _:
            return _clipped(json.dumps(value, default=repr))


def kind(value: object) -> str:
    """What a value is, to follow it in a sentence."""
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


def listed(words: Iterable[object]) -> str:
    """``1, 2 and 3``; "none" for no words."""
    *most, last = [*map(str, words)] or ["none"]
    return f"{', '.join(most)} and {last}" if most else last


def _clipped(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."
