# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The records of the memory."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import JournalError
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.blacklist import Blacklist
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.memory import (
    Memory,
    list_changes,
    order_changes,
    parse_memory,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.orders import RememberedOrder

_IDS = st.lists(st.integers(0, 2**31 - 1), max_size=4, unique=True).map(lambda ids: tuple(sorted(ids)))
_ORDERS = st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=4, unique=True).map(tuple)
_REMEMBERED = st.builds(
    RememberedOrder,
    st.from_regex(r"[a-zA-Z0-9._-]{1,9}", fullmatch=True),
    st.integers(0, 2**31 - 1),
    st.just("0kfAK7wCTDmDzRwEXhGdqg"),
    _ORDERS,
    st.lists(_ORDERS, min_size=1, max_size=4).map(tuple),
)
_MEMORIES = st.builds(
    Memory,
    st.builds(Blacklist, _IDS, st.dictionaries(st.sampled_from(["a*", "b?"]), _IDS.filter(bool))),
    st.none() | st.just("1,2"),
    st.integers(0, 9),
    st.lists(_REMEMBERED, max_size=4).map(lambda all_of: {each.topic_partition: each for each in all_of}),
    _IDS,
)


def _records(memory: Memory) -> Any:
    return json.loads(json.dumps({**list_changes(memory), **order_changes(memory.orders, memory.orders)}))


@given(_MEMORIES)
def test_records_have_the_whole_memory(memory: Memory) -> None:
    assert parse_memory(_records(memory), "here") == memory


LIST = {"version": 1, "brokers": [1], "byTopic": {"t": [2]}, "writtenValue": "1", "revision": 3, "returning": [4]}


def test_a_list_without_a_written_value_is_read() -> None:
    assert parse_memory({"list": LIST | {"writtenValue": None}}, "topic t").revision == 3


@pytest.mark.parametrize(
    "records",
    [
        {"list": {"version": 2}},
        {"list": {"version": 1}},
        *({"list": LIST | wrong} for wrong in ({"brokers": ["1"]}, {"byTopic": {"t": [None]}}, {"revision": "x"})),
        *({"list": LIST | wrong} for wrong in ({"returning": [True]}, {"writtenValue": 1}, {"brokers": None})),
        {"orders/t/0": {"version": 1, "partitions": {"0": {"topicId": "x", "original": [1], "ours": []}}}},
        {"orders/t/0": {"version": 1, "partitions": {"0": {"topicId": "x", "original": ["1"], "ours": [[1]]}}}},
        {"orders/t/0": {"version": 1, "partitions": {"100": {"topicId": "x", "original": [1], "ours": [[1]]}}}},
        {"orders/t/0": {"version": 1, "partitions": {"-1": {"topicId": "x", "original": [1], "ours": [[1]]}}}},
        {"orders/t/0": {"version": 1, "partitions": {"zero": {"topicId": "x", "original": [1], "ours": [[1]]}}}},
        {"orders/t": {"version": 1, "partitions": {"0": {"topicId": "x", "original": [1], "ours": [[1]]}}}},
        {"orders/t/0": {"version": 1, "partitions": []}},
        {"something": {"version": 1}},
        {"list": None},
    ],
)
def test_a_record_of_another_version_is_refused(records: dict[str, dict[str, Any]]) -> None:
    with pytest.raises(JournalError, match="topic t holds a record"):
        parse_memory(records, "topic t")
