# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A document of any schema, with each field, entries in each list, large numbers, and one text wherever text may be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jsonschema import Draft202012Validator

_OF_PATTERN = (
    "t" * 249,  # a topic's name
    "2026-01-31T02:59:58Z",
    "2026-01-31T02:59:58.123Z",
    "sha256:" + "a" * 64,
    "a" * 64,
    "none",
)
_LARGE = 2_000_000_000
_ENTRIES = 3


def any_document(schema: Mapping[str, Any], text: str, number: int = 0) -> Any:
    """Return a value that meets the schema. ``number`` is its place in a list, whose entries differ in their texts.

    Raises ValueError for a pattern that this module has no text for.
    """
    if "enum" in schema:
        return schema["enum"][0]
    match _type_of(schema):
        case "object":
            return {name: any_document(each, text, number) for name, each in schema["properties"].items()}
        case "array" if "prefixItems" in schema:
            return [any_document(each, text, number) for each in schema["prefixItems"]]
        case "array":
            return [any_document(schema["items"], text, each) for each in range(_ENTRIES)]
        case "integer":
            return min(_LARGE, schema.get("maximum", _LARGE))
        case "boolean":
            return True
        case _:
            return _a_text(schema, text, number)


def _type_of(schema: Mapping[str, Any]) -> str:
    types = schema["type"]
    return types if isinstance(types, str) else str(types[0])


def _a_text(schema: Mapping[str, Any], text: str, number: int) -> str:
    for each in (f"{text} {number}", f"4L6g3nShT-eMCtK--X86s{number}", *_OF_PATTERN):
        if Draft202012Validator(schema).is_valid(each):
            return each
    raise ValueError(f"no text for {schema}")
