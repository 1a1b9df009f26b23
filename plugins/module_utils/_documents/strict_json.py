# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Parse untrusted JSON strictly, and report every problem with its place. Standard library only.

Python's json module accepts NaN, keeps the last of two equal keys, and has no limits.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any

from .errors import MAX_PROBLEMS, DocumentError, Problem, pointer, raise_if_problems, show_value
from .files import MIB, read_file

MAX_BYTES = 64 * MIB
MAX_DEPTH = 32
"""Levels of nested objects and lists. A plan file has 7."""
_MAX_DIGITS = 40
"""An int64 has 19. Python itself refuses more than 4,300, with an error that names no place."""

Check = Callable[[Any], Iterable[Problem]]
"""Finds the problems of a value that is valid JSON."""


def read_json(path: str, check: Check, *, must_be_protected: bool = False) -> Any:
    """Read a JSON file of at most ``MAX_BYTES`` bytes and ``MAX_DEPTH`` levels, in UTF-8 with or without a BOM.

    Raises DocumentError with all problems at once: those of the text, and those that ``check`` finds in its value.
    """
    return parse_json(read_file(path, MAX_BYTES, must_be_protected=must_be_protected), path, check)


def parse_json(data: bytes, path: str, check: Check) -> Any:
    """Parse bytes like ``read_json`` parses a file. ``path`` is only for the error."""
    value, problems = _parse(data, path)
    places = {problem.place for problem in problems}
    raise_if_problems(path, chain(problems, (problem for problem in check(value) if problem.place not in places)))
    return value


def _parse(data: bytes, path: str) -> tuple[Any, list[Problem]]:
    """Return the value, and the problems despite which it can be read. Raises DocumentError for other problems."""
    text, problems = _decode(data, path)
    too_deep = None if _is_shallow(data) else _find_depth_problem(text)
    if too_deep:
        raise DocumentError(path, [*problems, too_deep])
    decoder = _StrictDecoder(has_long_numbers=_has_long_numbers(data))
    try:
        value = decoder.decode(text)
    except json.JSONDecodeError as error:
        raise DocumentError(path, [*problems, _syntax_problem(text, error)]) from error
    return value, [*problems, *islice(decoder.problems(value), MAX_PROBLEMS)]


def _decode(data: bytes, path: str) -> tuple[str, list[Problem]]:
    """Return the text, and a problem for each place that is not UTF-8. Such bytes become U+FFFD."""
    if not data.strip():
        raise DocumentError(
            path, [Problem("", "it is empty", "Check how the file was made, and the space on that disk")]
        )
    if not data.strip(b"\0"):
        message = "it contains only NUL bytes, as after a crash of the host that wrote it"
        raise DocumentError(path, [Problem("", message, "Create the file again")])
    encoding = json.detect_encoding(data)
    if not encoding.startswith("utf-8"):
        message = f"it is {encoding.upper()} text, or holds NUL bytes; a JSON file is UTF-8"
        raise DocumentError(path, [Problem("", message, f"Convert it: iconv -f {encoding.upper()} -t UTF-8")])
    # Each byte that is not UTF-8 becomes a lone surrogate (PEP 383), which valid UTF-8 cannot contain.
    text = data.decode(encoding, "surrogateescape")
    if text.isascii():
        return text, []
    problems = [_utf8_problem(text, match) for match in islice(_NOT_UTF8.finditer(text), MAX_PROBLEMS)]
    return _NOT_UTF8.sub(lambda match: "\ufffd" * len(match.group()), text), problems


_NOT_UTF8 = re.compile("[\udc80-\udcff]+")


def _utf8_problem(text: str, match: re.Match[str]) -> Problem:
    found = match.group()[:4].encode("utf-8", "surrogateescape").hex(" ")
    remedy = "Save the file as UTF-8, and check the words at this place"
    return Problem(_line_and_column(text, match.start()), f"these bytes are not UTF-8: {found}", remedy)


_CHUNK = 1 << 16
_ESCAPE = re.compile(rb"\\.", re.DOTALL)
_NO_BRACKETS = bytes(each for each in range(256) if each not in b"[]{}")
_ONE_KIND = bytes.maketrans(b"{}", b"[]")
_ALL_ZEROS = bytes.maketrans(b"123456789", b"000000000")


def _is_shallow(data: bytes, chunk: int = _CHUNK) -> bool:
    """Return whether brackets are nested at most MAX_DEPTH levels deep, and all are closed.

    Brackets outside strings are collected from ``chunk`` bytes at a time. Then empty pairs are removed MAX_DEPTH times.
    That takes a tenth of the time of reading each bracket.
    """
    if b"\\" in data:
        data = _ESCAPE.sub(b"", data)
    outside, is_in_string = [], False
    for start in range(0, len(data), chunk):
        pieces = data[start : start + chunk].split(b'"')
        outside.append(b"".join(pieces[is_in_string::2]).translate(_ONE_KIND, _NO_BRACKETS))
        is_in_string ^= len(pieces) % 2 == 0
    brackets = b"".join(outside)
    for _level in range(MAX_DEPTH):
        brackets = brackets.replace(b"[]", b"")
    return not brackets


def _has_long_numbers(data: bytes) -> bool:
    """Return whether there may be a number of more than _MAX_DIGITS digits."""
    return b"0" * (_MAX_DIGITS + 1) in data.translate(_ALL_ZEROS)


_UP_TO_BRACKET = re.compile(r'(?:[^"\[\]{}]++|"(?:[^"\\]++|\\.)*+(?:"|\\|\Z))*+([\[\]{}]|\Z)', re.DOTALL)
"""Text and complete strings, up to a bracket or the end. It always matches and never backtracks, so it is linear."""


def _find_depth_problem(text: str) -> Problem | None:
    """Find brackets below MAX_DEPTH, before the recursive parser reads the text."""
    depth = 0
    for match in _UP_TO_BRACKET.finditer(text):
        bracket = match.group(1)
        if bracket in ("[", "{"):
            depth += 1
            if depth > MAX_DEPTH:
                message = f"lists and objects go deeper than {MAX_DEPTH} levels"
                return Problem(_line_and_column(text, match.start(1)), message, "Check how the file was made")
        elif bracket:
            depth -= 1
    return None


def _syntax_problem(text: str, error: json.JSONDecodeError) -> Problem:
    place = f"line {error.lineno}, column {error.colno}"
    if error.msg == "Extra data":
        return Problem(place, "text goes on after the end of the JSON document", "Remove what does not belong to it")
    if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
        message = f"the JSON text ends too early, it was cut off ({error.msg})"
        return Problem(place, message, "Create or copy the file again")
    if "property name" in error.msg:
        return Problem(
            place, "a key in double quotes should be here", 'Write every key like "topic", and no comma before }'
        )
    return Problem(place, f"this is not JSON ({error.msg})", "Correct the text at this place")


def _line_and_column(text: str, position: int) -> str:
    line_start = text.rfind("\n", 0, position) + 1
    return f"line {text.count(chr(10), 0, position) + 1}, column {position - line_start + 1}"


class _StrictDecoder:
    """Python's JSON decoder, which also notes what a strict decoder would refuse."""

    def __init__(self, *, has_long_numbers: bool) -> None:
        self._suspicious = False
        self._json = json.JSONDecoder(
            object_pairs_hook=self._object,
            parse_constant=self._float,
            parse_float=self._float,
            # Without a function: calling one for each number would take two fifths of the time.
            parse_int=self._int if has_long_numbers else None,
        )

    def decode(self, text: str) -> Any:
        # An escaped lone surrogate gives a string that cannot be encoded.
        self._suspicious = "\\ud" in text or "\\uD" in text
        return self._json.decode(text)

    def problems(self, value: Any) -> Iterator[Problem]:
        """Return the problems, each with its place."""
        if self._suspicious:
            yield from _find_value_problems(value, ())

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) == len(pairs):
            return value
        self._suspicious = True
        return _RepeatingObject(pairs)

    def _float(self, text: str) -> float:
        number = float(text)
        self._suspicious |= not math.isfinite(number)
        return number

    def _int(self, text: str) -> int | float:
        return int(text) if len(text) <= _MAX_DIGITS else self._float("inf")


class _RepeatingObject(dict[str, Any]):
    """An object with repeated keys, to be reported once its place is known."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.repeated = [key for key, count in Counter(key for key, _value in pairs).items() if count > 1]


def _find_value_problems(value: Any, place: tuple[str | int, ...]) -> Iterator[Problem]:
    match value:
        case str() if _SURROGATE.search(value):
            yield Problem(
                pointer(*place), f"{show_value(value)} has half of a surrogate pair", "Correct the \\u escapes"
            )
        case float() if math.isnan(value):
            yield Problem(pointer(*place), "NaN is not a JSON value", "Write the right number there")
        case float() if math.isinf(value):
            yield Problem(
                pointer(*place), "an infinity, or a number too large to be read", "Write the right number there"
            )
        case dict():
            for key in value.repeated if isinstance(value, _RepeatingObject) else ():
                yield Problem(pointer(*place, key), "this key is there more than once", "Keep only the right one")
            for key, item in value.items():
                yield from _find_value_problems(key, (*place, key))
                yield from _find_value_problems(item, (*place, key))
        case list():
            for index, item in enumerate(value):
                yield from _find_value_problems(item, (*place, index))


_SURROGATE = re.compile("[\ud800-\udfff]")
