# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Schema, encoder and decoder that are derived from a dataclass."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, NamedTuple

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._documents import partitions_file
from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.dataclass_json import codec, in_camel_case
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.fields import BrokerId, Meta, Offset, WrittenAs


class Color(StrEnum):
    RED = "red"
    BLUE = "blue"


class Pair(NamedTuple):
    first: Offset
    second: Offset


@dataclass(frozen=True)
class Example:
    version: Annotated[int, Meta(minimum=1, maximum=1)] = field(default=1, init=False)
    broker_id: BrokerId
    is_red: bool
    colors: tuple[Color, ...]
    color: Color | None
    pairs: tuple[Annotated[Pair, Meta(description="a pair is a list of two")], ...] | None
    other: Annotated[str, Meta(name="renamed")]


EXAMPLE = Example(3, True, (Color.RED,), None, (Pair(1, 2),), "text")
JSON: dict[str, Any] = {
    "version": 1,
    "brokerId": 3,
    "isRed": True,
    "colors": ["red"],
    "color": None,
    "pairs": [[1, 2]],
    "renamed": "text",
}


def test_values_survive_encoding_and_decoding() -> None:
    derived = codec(Example)
    assert derived.encode(EXAMPLE) == JSON
    assert derived.decode(JSON) == EXAMPLE


def test_descriptions_follow_from_types_and_names() -> None:
    schema = codec(Example).schema
    assert schema["description"] == "an example is an object"
    assert {key: each["description"] for key, each in schema["properties"].items()} == {
        "version": "a version is an integer from 1 to 1",
        "brokerId": "a broker id is an integer from 0 to 2147483647",
        "isRed": "this is true or false",
        "colors": "the colors are a list",
        "color": "a color is one of red, blue, or null if not known",
        "pairs": "the pairs are a list, or null if not known",
        "renamed": "an other is a string",
    }
    assert schema["properties"]["colors"]["items"]["description"] == "a color is one of red, blue"
    assert schema["properties"]["color"]["enum"] == ["red", "blue", None]


@dataclass(frozen=True)
class Inner:
    first: Offset
    second: Offset


@dataclass(frozen=True)
class Around:
    inner: Annotated[Inner, Meta(flat=True)]
    counts: Annotated[Mapping[str, Offset], Meta(description="the counts are an object", keys=Color)]
    word: Annotated[int, WrittenAs(str, str)]


def test_write_only_fields_are_encoded() -> None:
    derived = codec(Around)
    written = derived.encode(Around(Inner(1, 2), {"red": 1, "blue": 0}, 7))
    assert written == {"first": 1, "second": 2, "counts": {"red": 1, "blue": 0}, "word": "7"}
    assert [*derived.schema["properties"]] == [*written]
    assert [*derived.schema["properties"]["counts"]["properties"]] == ["red", "blue"]


@dataclass(frozen=True)
class Unbounded:
    number: int


@dataclass(frozen=True)
class Unclear:
    anything: Mapping[str, int]


@pytest.mark.parametrize("class_", [Unbounded, Unclear])
def test_unsupported_type_is_refused(class_: type) -> None:
    with pytest.raises(TypeError, match=r"number|anything"):
        codec(class_)


def test_keys_of_results_become_those_of_documents() -> None:
    assert in_camel_case({"log_dirs": ({"size_bytes": 1},)}) == {"logDirs": [{"sizeBytes": 1}]}


def test_valid_values_need_no_jsonschema() -> None:
    """It takes a third of a second to import."""
    code = f"""
import sys
from {partitions_file.__name__} import check_partitions
check_partitions([{{"topic": "orders", "partition": 0}}])
assert "jsonschema" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": ":".join(sys.path)})
