# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Check quickly whether a value meets a schema, without explaining why not. Standard library only.

jsonschema takes about a minute for a plan of 100,000 elections, and a third of a second to import. So it is used only
for a value that fails this check. All values of one place in the schema are checked together, because calling a
function for each value would take most of the time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any

Screen = Callable[[Any], bool]
_ScreenOfMany = Callable[[Sequence[Any]], bool]
"""Returns whether each of the values meets the schema."""

_BATCH_SIZE = 256
"""Items of a list to check together. More would not fit in the processor's cache."""

_ANNOTATIONS = {"$schema", "$id", "title", "description"}


def is_integer(value: object) -> bool:
    """Return whether the value is an integer. True and 3.0 are not."""
    return isinstance(value, int) and not isinstance(value, bool)


def screen(schema: Mapping[str, Any]) -> Screen:
    """Return a function that checks whether a value meets a schema.

    Raises NotImplementedError for an unknown combination of keywords. It never accepts a value that jsonschema refuses.
    """
    meet = _screen_of_many(schema)
    return lambda value: meet([value])


def _screen_of_many(schema: Mapping[str, Any]) -> _ScreenOfMany:
    keywords = {keyword: value for keyword, value in schema.items() if keyword not in _ANNOTATIONS}
    match keywords:
        case {"type": [kind, "null"], **rest}:
            meet = _screen_of_many({"type": kind, **rest})
            return lambda values: meet([value for value in values if value is not None])
        case {"type": ["integer", "string", *null], "pattern": word, **numbers} if null in ([], ["null"]):
            meet_numbers = _screen_of_many({"type": ["integer", "null"] if null else "integer", **numbers})
            meet_words = _screen_of_many({"type": "string", "pattern": word})
            return lambda values: (
                meet_words([each for each in values if isinstance(each, str)])
                and meet_numbers([each for each in values if not isinstance(each, str)])
            )
        case {"type": "boolean", **rest} if not rest:
            return lambda values: _all_are(bool, values)
        case {"type": "integer", "minimum": minimum, "maximum": maximum, **rest} if not rest:
            return lambda values: _are_integers(values, minimum, maximum)
        case {"type": "string", **rest} if not rest:
            return lambda values: _all_are(str, values)
        case {"type": "string", "pattern": pattern, **rest} if not rest:
            matches = re.compile(pattern).fullmatch
            # A set, to match each topic name once, not once for each of its partitions.
            return lambda values: _all_are(str, values) and all(map(matches, set(values)))
        case {"type": "string", "enum": words, **rest} if not rest:
            return lambda values: _all_are(str, values) and set(values) <= set(words)
        case {"type": "array", "items": items, "minItems": least, **rest} if items and not rest:
            return _list(_screen_of_many(items), least)
        case {"type": "array", "items": False, "minItems": least, "prefixItems": prefix, **rest} if (
            least == len(prefix) and not rest
        ):
            return _tuple([_screen_of_many(item) for item in prefix])
        case {"type": "object", "additionalProperties": False, "properties": properties, "required": keys, **rest} if (
            properties.keys() == set(keys) and not rest
        ):
            return _record({key: _screen_of_many(value) for key, value in properties.items()})
        case {"type": "object", "if": {"required": [key]}, "then": with_key, "else": without, **rest} if not rest:
            return _either(key, _screen_of_many(with_key), _screen_of_many(without))
        case _:
            raise NotImplementedError(f"no screen for a schema of {', '.join(sorted(keywords))}")


def _all_are(type_: type, values: Sequence[Any]) -> bool:
    # For nearly all values the set of types decides, without a call for each value.
    return {*map(type, values)} <= {type_} or all(isinstance(value, type_) for value in values)


def _are_integers(values: Sequence[Any], minimum: int, maximum: int) -> bool:
    if not values:
        return True
    if not {*map(type, values)} <= {int} and not all(map(is_integer, values)):
        return False
    return bool(minimum <= min(values) and max(values) <= maximum)


def _list(items_meet: _ScreenOfMany, least: int) -> _ScreenOfMany:
    def meet(values: Sequence[Any]) -> bool:
        if not _all_are(list, values) or min(map(len, values), default=least) < least:
            return False
        items = [*chain.from_iterable(values)]
        return all(items_meet(items[first : first + _BATCH_SIZE]) for first in range(0, len(items), _BATCH_SIZE))

    return meet


def _tuple(items: list[_ScreenOfMany]) -> _ScreenOfMany:
    def meet(values: Sequence[Any]) -> bool:
        if not _all_are(list, values) or not {*map(len, values)} <= {len(items)}:
            return False
        return all(meets([*map(itemgetter(index), values)]) for index, meets in enumerate(items))

    return meet


def _record(properties: dict[str, _ScreenOfMany]) -> _ScreenOfMany:
    def meet(values: Sequence[Any]) -> bool:
        if not _all_are(dict, values) or not {*map(len, values)} <= {len(properties)}:
            return False
        try:
            # Each value has as many keys as there are properties. If it has every property, it has no other key.
            return all(meets([*map(itemgetter(key), values)]) for key, meets in properties.items())
        except KeyError:
            return False

    return meet


def _either(key: str, meet_with: _ScreenOfMany, meet_without: _ScreenOfMany) -> _ScreenOfMany:
    def meet(values: Sequence[Any]) -> bool:
        if not _all_are(dict, values):
            return False
        return meet_with([value for value in values if key in value]) and meet_without(
            [value for value in values if key not in value]
        )

    return meet
