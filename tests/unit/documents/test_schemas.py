# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The published schemas. jsonschema and the screen agree on them."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import update_schemas
from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.report import LOG_CLEANER_REPORT
from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.dataclass_json import Schema
from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.partitions_file import PARTITIONS_FILE
from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.screen import screen
from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.validation import schema_problems
from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.plan import GROUP_PLAN, GROUP_REPORT
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.report import LEADERSHIP_REPORT
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum.assessment import QUORUM_REPORT
from ansible_collections.kafkaops.recovery.plugins.module_utils._readiness.check import READINESS_REPORT
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.outcome import REPORT_FILE
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan_file import PLAN_FILE, plan_document
from ansible_collections.kafkaops.recovery.plugins.module_utils._redundancy.plan import (
    REDUNDANCY_PLAN,
    REDUNDANCY_REPORT,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.manifest import SALVAGE_MANIFEST
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.report import DISK_REPORT, REPLAY_REPORT
from ansible_collections.kafkaops.recovery.plugins.module_utils._stop_gate.gate import STOP_GATE_REPORT
from unit.documents.examples import a_plan, plans

SCHEMAS = [
    DISK_REPORT,
    GROUP_PLAN,
    GROUP_REPORT,
    LEADERSHIP_REPORT,
    LOG_CLEANER_REPORT,
    PARTITIONS_FILE,
    PLAN_FILE,
    QUORUM_REPORT,
    READINESS_REPORT,
    REDUNDANCY_PLAN,
    REDUNDANCY_REPORT,
    REPLAY_REPORT,
    REPORT_FILE,
    SALVAGE_MANIFEST,
    STOP_GATE_REPORT,
]


def test_published_schemas_are_those_of_the_code() -> None:
    """If this fails, run tests/update_schemas.py."""
    published = {path: path.read_text(encoding="utf-8") for path in update_schemas.DIRECTORY.glob("*.json")}
    assert published == update_schemas.published()


def test_the_page_names_each_schema() -> None:
    text = (update_schemas.DIRECTORY / "README.md").read_text(encoding="utf-8")
    assert [path.name for path in update_schemas.published() if f"]({path.name})" not in text] == []


@pytest.mark.parametrize("schema", SCHEMAS)
def test_schema_is_one(schema: Schema) -> None:
    Draft202012Validator.check_schema(schema)


def _within(schema: Schema) -> Iterator[Schema]:
    yield schema
    for inner in [
        *schema.get("properties", {}).values(),
        *schema.get("prefixItems", ()),
        *(schema[key] for key in ("items", "then", "else") if schema.get(key)),
    ]:
        yield from _within(inner)


@pytest.mark.parametrize("schema", SCHEMAS)
def test_every_schema_part_has_a_description(schema: Schema) -> None:
    for part in _within(schema):
        assert part["description"]
        assert part["type"] != "object" or part.get("additionalProperties") is False or "if" in part


@pytest.mark.parametrize("schema", SCHEMAS)
def test_patterns_are_anchored(schema: Schema) -> None:
    """The validation requires this."""
    for pattern in (part["pattern"] for part in _within(schema) if "pattern" in part):
        assert (pattern[0], pattern[-1]) == ("^", "$")


# Nearly valid documents find more defects than random ones.
_ODD: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, False, 0, 1, -1, 2, 3.0, 2**31, 2**63, "", "foo", "foo\n", "..", [], [0], [[0, 0]], {}]
).map(copy.deepcopy)
_KEYS = st.sampled_from(["topic", "partition", "partitions", "brokerId", "rank", "lineage", "status", "digest", "x"])


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every (container, key) in a document."""
    for key, item in list(value.items() if isinstance(value, dict) else enumerate(value)):
        yield value, key
        if isinstance(item, (dict, list)):
            yield from _places(item)


@st.composite
def _damaged(draw: st.DrawFn, whole: Any) -> Any:
    document = copy.deepcopy(whole)
    for _time in range(draw(st.integers(0, 2))):
        container, key = draw(st.sampled_from([*_places(document)]))
        match draw(st.sampled_from(["replace", "remove", "add"])):
            case "replace":
                container[key] = draw(_ODD)
            case "remove":
                del container[key]
            case _ if isinstance(container, dict):
                container[draw(_KEYS)] = draw(_ODD)
            case _:
                container.append(draw(_ODD))
        if not document:
            break
    return document


def _assert_agreed(value: Any, schema: Schema) -> None:
    """Validate accepted documents with plain jsonschema: ``schema_problems`` itself trusts the screen."""
    if screen(schema)(value):
        Draft202012Validator(schema).validate(value)
    else:
        assert schema_problems(value, schema)


@given(_damaged(plan_document(a_plan())))
def test_screen_and_jsonschema_agree_on_plans(value: Any) -> None:
    _assert_agreed(value, PLAN_FILE)


_ENTRIES = [{"topic": "foo", "partition": 0}, {"topic": "bar", "partitions": [0, 3]}]


@given(_damaged({"partitions": _ENTRIES}))
def test_screen_and_jsonschema_agree_on_partitions(value: Any) -> None:
    _assert_agreed(value, PARTITIONS_FILE)


@pytest.mark.parametrize("place", [0, 255, 256, 999])
@pytest.mark.parametrize(
    "wrong",
    [
        None,
        [],
        {},
        {"partitions": [0]},
        {"topic": "foo", "partition": True},
        {"topic": "foo", "partition": 3.0},
        {"topic": "foo", "partition": -1},
        {"topic": "foo", "partition": 2**31},
        {"topic": "foo\n", "partition": 0},
        {"topic": [], "partition": 0},
        {"topic": "foo", "partition": 0, "x": 0},
        {"topic": "foo", "partition": 0, "partitions": [0]},
        {"topic": "foo", "partitions": []},
        {"topic": "foo", "partitions": [0, "1"]},
    ],
)
def test_one_wrong_entry_is_found_at_any_position(wrong: Any, place: int) -> None:
    entries: list[Any] = [_ENTRIES[number % 2] for number in range(1000)]
    assert screen(PARTITIONS_FILE)({"partitions": entries})
    entries[place] = wrong
    assert not screen(PARTITIONS_FILE)({"partitions": entries})


@given(plans())
def test_every_plan_meets_the_schema_as_others_read_it(plan: Any) -> None:
    """Validate with plain jsonschema, as another tool would do with the published file."""
    Draft202012Validator(PLAN_FILE).validate(plan_document(plan))


@pytest.mark.parametrize(
    "schema", [{"type": "string", "maxLength": 1}, {"type": "integer"}, {"type": "number"}, {"anyOf": []}, {}]
)
def test_screen_refuses_what_it_does_not_know(schema: Schema) -> None:
    with pytest.raises(NotImplementedError):
        screen(schema)
