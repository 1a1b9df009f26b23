# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each spelling that the type of an option accepts, with the value that it means."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any

from unit.roles.role import ROLES, options

CHECKED = sorted(each.name for each in ROLES.iterdir() if each.name != "kafka_connection")
"""The roles that have variables of their own."""
TRUE = ["true", "True", "TRUE", "yes", "Yes", "on", "On", "1", "y", "t", " true ", True, 1]
FALSE = ["false", "False", "FALSE", "no", "No", "off", "Off", "0", "n", "f", " false ", False, 0]
_INT = ["7", " 7 ", 7]
_FLOAT = ["2.5", 2.5, " 2.5 "]


def spellings(spec: Mapping[str, Any]) -> Iterator[tuple[object, object]]:
    """Yield every spelling of an option's value, and the value. Relative paths become those of /start."""
    kind = spec["type"]
    if spec.get("choices"):
        yield from ((each, each) for each in spec["choices"])
        if "off" in spec["choices"]:
            yield False, "off"
    elif kind == "bool":
        yield from ((each, True) for each in TRUE)
        yield from ((each, False) for each in FALSE)
    elif kind == "int":
        yield from ((each, 7) for each in _INT)
    elif kind == "float":
        yield from ((each, 2.5) for each in _FLOAT)
    elif kind == "path":
        yield "a file.json", "/start/a file.json"
        yield "/b/c.json", "/b/c.json"
        yield "hdfs://namenode/d", "hdfs://namenode/d"
    elif kind == "dict":
        # A key that says where Spark runs, too, whose keys are checked.
        value = {"driver_memory": "2g"} if "options" not in spec else _sample(spec["options"])
        yield value, value
        yield json.dumps(value), value
    elif kind == "list":
        yield from _lists(spec)
    else:
        yield "text", "text"


def _lists(spec: Mapping[str, Any]) -> Iterator[tuple[object, object]]:
    kind = spec["elements"]
    if kind == "dict":
        value = [_sample(spec["options"])]
        yield from ((each, value) for each in (value, value[0], json.dumps(value), json.dumps(value[0])))
        if "partitions" in spec["options"]:
            yield "a.b:0,3", [{"topic": "a.b", "partitions": [0, 3]}]
            yield "['a:1', 'b:2']", [{"topic": "a", "partitions": [1]}, {"topic": "b", "partitions": [2]}]
            yield "a:0-2 b:7", [{"topic": "a", "partitions": [0, 1, 2]}, {"topic": "b", "partitions": [7]}]
            yield ["a:1", "b:2"], [{"topic": "a", "partitions": [1]}, {"topic": "b", "partitions": [2]}]
        return
    values: list[Any] = [1, 2] if kind == "int" else ["/x", "/y"] if kind == "path" else ["x", "y"]
    words = [*map(str, values)]
    for each in (values, words, ",".join(words), ", ".join(words), json.dumps(values), json.dumps(words)):
        yield each, values
    yield str(words), values
    yield f"[{','.join(words)}]", values
    yield f"[ {' , '.join(words)} ]", values
    yield f"{','.join(words)},", values
    if kind == "int":
        # As a shell passes several words in quotes, and as summaries print brokers.
        yield from ((each, values) for each in ("1 2", " 1; 2", "1-2", "[1 2]"))
    yield words[0], values[:1]
    yield values[0], values[:1]


def _sample(suboptions: Mapping[str, Any]) -> dict[str, Any]:
    wanted = {name: each for name, each in suboptions.items() if each.get("required")} or dict(
        [*suboptions.items()][:1]
    )
    return {name: 7 if each["type"] == "int" else "text" for name, each in wanted.items()}


def rounds(role: str) -> Iterator[tuple[dict[str, object], dict[str, object]]]:
    """Yield the role's variables until each was given in each spelling: the variables, and the values they mean."""
    columns = [[(name, *each) for each in spellings(spec)] for name, spec in options(role).items()]
    for row in zip_longest(*columns):
        filled = [each or column[0] for each, column in zip(row, columns, strict=True)]
        yield {name: typed for name, typed, _value in filled}, {name: value for name, _typed, value in filled}
