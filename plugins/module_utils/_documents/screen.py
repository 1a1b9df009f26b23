# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Check quickly whether a value meets a schema, without a reason why not. Standard library only.

jsonschema takes about a minute for a plan of 100,000 elections, and a third of a second to import. So it is only asked
when a value does not pass the screen.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

Screen = Callable[[Any], bool]

_ANNOTATIONS = {"$schema", "$id", "title", "description"}


def is_integer(value: object) -> bool:
    """Say whether the value is an integer; neither true nor 3.0 is one."""
    return isinstance(value, int) and not isinstance(value, bool)


def screen(schema: Mapping[str, Any]) -> Screen:
    """Make the function that returns whether a value meets a schema.

    Raises NotImplementedError for keywords that it does not know together: it is never more lenient than jsonschema.
    """
    keywords = {keyword: value for keyword, value in schema.items() if keyword not in _ANNOTATIONS}
    match keywords:
        case {"type": [kind, "null"], **rest}:
            meets = screen({"type": kind, **rest})
            return lambda value: value is None or meets(value)
        case {"type": "boolean", **rest} if not rest:
            return lambda value: isinstance(value, bool)
        case {"type": "integer", "minimum": minimum, "maximum": maximum, **rest} if not rest:
            # The first question alone answers for nearly every value, in half the time.
            return lambda value: (value.__class__ is int or is_integer(value)) and minimum <= value <= maximum
        case {"type": "string", **rest} if not rest:
            return lambda value: isinstance(value, str)
        case {"type": "string", "pattern": pattern, **rest} if not rest:
            matches = re.compile(pattern).fullmatch
            return lambda value: isinstance(value, str) and matches(value) is not None
        case {"type": "string", "enum": words, **rest} if not rest:
            return lambda value: isinstance(value, str) and value in words
        case {"type": "array", "items": items, "minItems": least, **rest} if items and not rest:
            meets = screen(items)
            return lambda value: isinstance(value, list) and len(value) >= least and all(map(meets, value))
        case {"type": "array", "items": False, "minItems": least, "prefixItems": prefix, **rest} if not rest:
            return _tuple([screen(item) for item in prefix], least)
        case {"type": "object", "additionalProperties": False, "properties": properties, "required": keys, **rest} if (
            properties.keys() == set(keys) and not rest
        ):
            return _record({key: screen(value) for key, value in properties.items()})
        case {"type": "object", "additionalProperties": False, "properties": properties, "required": [], **rest} if (
            not rest
        ):
            return _some_of({key: screen(value) for key, value in properties.items()})
        case {"type": "object", "if": {"required": [key]}, "then": with_key, "else": without, **rest} if not rest:
            with_key, without = screen(with_key), screen(without)
            return lambda value: isinstance(value, dict) and (with_key if key in value else without)(value)
        case _:
            raise NotImplementedError(f"no screen for a schema of {', '.join(sorted(keywords))}")


def _tuple(items: list[Screen], least: int) -> Screen:
    def meets(value: Any) -> bool:
        return isinstance(value, list) and least <= len(value) <= len(items) and all(map(operator.call, items, value))

    return meets


def _record(properties: dict[str, Screen]) -> Screen:
    def meets(value: Any) -> bool:
        if not isinstance(value, dict) or value.keys() != properties.keys():
            return False
        for key, meets_property in properties.items():  # noqa: SIM110 - a generator takes twice the time
            if not meets_property(value[key]):
                return False
        return True

    return meets


def _some_of(properties: dict[str, Screen]) -> Screen:
    def meets(value: Any) -> bool:
        return isinstance(value, dict) and all(
            key in properties and properties[key](each) for key, each in value.items()
        )

    return meets
