# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Check a value against its schema, and explain what does not meet it.

Imports jsonschema only for a value that does not meet its schema, because that import is slow.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from .._model.fields import TOPIC_PATTERN
from .dataclass_json import Schema
from .errors import MAX_PROBLEMS, Problem, describe_kind, join_words, pointer, show_value
from .screen import is_integer, screen

if TYPE_CHECKING:
    from jsonschema import ValidationError

# Imports that only a wrong value needs are inside functions.
# ruff: noqa: PLC0415

_TOPIC_LENGTH = 249
_CHARACTERS_NAMED = 3
_KEY_LENGTH = 60
"""Characters of a key to compare with known keys: the time grows with the square of the length."""


def schema_problems(value: Any, schema: Schema) -> list[Problem]:
    """Find every wrong value, missing key and unknown key, up to ``MAX_PROBLEMS``.

    Stricter than JSON Schema: 3.0 is not an integer.
    """
    return [] if screen(schema)(value) else _explain(value, schema)


def _explain(value: Any, schema: Schema) -> list[Problem]:
    # A set with an order: -3.5 is no integer and below the minimum, which gives the same problem twice.
    problems: dict[Problem, None] = {}
    for error in _strict_validator()(schema).iter_errors(value):
        problems |= dict.fromkeys(islice(_problems(error), MAX_PROBLEMS))
        if len(problems) >= MAX_PROBLEMS:
            break
    return [*problems][:MAX_PROBLEMS]


@cache
def _strict_validator() -> Any:
    """Return jsonschema's validator, changed to be faster for long lists and stricter."""
    from jsonschema import Draft202012Validator, ValidationError
    from jsonschema.validators import extend

    def items(validator: Any, items: Any, instance: Any, schema: Schema) -> Iterator[ValidationError]:
        """Apply jsonschema's ``items`` only to the items that fail the quick check."""
        if items is False or not validator.is_type(instance, "array"):
            yield from Draft202012Validator.VALIDATORS["items"](validator, items, instance, schema)
            return
        meets = screen(items)
        for index, item in enumerate(instance):
            if not meets(item):
                yield from validator.descend(item, items, path=index)

    def pattern(validator: Any, pattern: str, instance: Any, schema: Schema) -> Iterator[ValidationError]:
        """Match the whole string, because Python's "$" also matches before a final newline."""
        if validator.is_type(instance, "string") and not re.fullmatch(pattern, instance):
            yield ValidationError("does not match")

    def required(validator: Any, required: Any, instance: Any, schema: Schema) -> Iterator[ValidationError]:
        """Apply jsonschema's ``required``, with only the key as the message."""
        if validator.is_type(instance, "object"):
            yield from (ValidationError(key) for key in required if key not in instance)

    return extend(  # type: ignore[no-untyped-call]  # types-jsonschema gives it no types
        Draft202012Validator,
        validators={"items": items, "pattern": pattern, "required": required},
        type_checker=Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: is_integer(value)),
    )


def _problems(error: ValidationError) -> Iterator[Problem]:
    place, value, schema = error.absolute_path, cast(Any, error.instance), cast(Schema, error.schema)
    keys = schema.get("properties", {})
    match error.validator:
        case "required":
            key = error.message
            yield Problem(pointer(*place), f'the key "{key}" is missing', f"Add it: {keys[key]['description']}")
        case "additionalProperties":
            for key in value:
                if key not in keys:
                    message = f"this key is not known; the keys here are {join_words(keys)}"
                    yield Problem(pointer(*place, key), message, _key_remedy(key, keys))
        case _:
            yield Problem(pointer(*place), _message(value, schema), _remedy(value, schema))


def _message(value: Any, schema: Schema) -> str:
    found = "is not allowed" if _strict_validator()(schema).is_type(value, _type(schema)) else describe_kind(value)
    message = f"{show_value(value)} {found}; {schema['description']}"
    if _is_topic(schema) and isinstance(value, str):
        message += "".join(f"; it {hint}" for hint in _topic_hints(value))
    return message


def _type(schema: Schema) -> str:
    """Return the schema's type. Each of our schemas has exactly one type besides null."""
    types = schema["type"]
    return types if isinstance(types, str) else types[0]


def _is_topic(schema: Schema) -> bool:
    return schema.get("pattern") == TOPIC_PATTERN


def _topic_hints(topic: str) -> Iterator[str]:
    """Return hints about errors that are hard to see: similar letters, invisible characters, or too many of them."""
    import unicodedata

    if len(topic) > _TOPIC_LENGTH:
        yield f"has {len(topic):,} characters"
    strange = dict.fromkeys(re.sub("[a-zA-Z0-9._-]", "", topic[:_TOPIC_LENGTH]))
    for character in islice(strange, _CHARACTERS_NAMED):
        yield f"holds U+{ord(character):04X} {unicodedata.name(character, '(a character without a name)')}"


def _remedy(value: Any, schema: Schema) -> str:
    match _type(schema), value:
        case "integer", str() if re.fullmatch("-?[0-9]{1,19}", value):
            return f"Write it without quotes: {int(value)}"
        case "integer", float() if value.is_integer():
            return f"Write it without a decimal point: {show_value(int(value))}"
        case _:
            return "Copy the name from kafka-topics.sh --list" if _is_topic(schema) else "Correct it"


def _key_remedy(key: object, keys: Iterable[str]) -> str:
    from difflib import get_close_matches

    similar = get_close_matches(str(key)[:_KEY_LENGTH], keys, n=1)
    return f'Write "{similar[0]}", or remove it' if similar else "Remove it"
