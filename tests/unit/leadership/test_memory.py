# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The records of the memory, and the merge of topic and file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import JournalError
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.blacklist import Blacklist
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.memory import (
    FileStore,
    Memory,
    difference,
    list_changes,
    memory_path,
    merge,
    order_changes,
    parse_memory,
    read_memory_file,
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
)
_ONE = RememberedOrder("orders", 0, "0kfAK7wCTDmDzRwEXhGdqg", (1, 2), ((1, 2), (2, 1)))


def _records(memory: Memory) -> Any:
    return json.loads(json.dumps({**list_changes(memory), **order_changes(memory.orders, memory.orders)}))


@given(_MEMORIES)
def test_records_have_the_whole_memory(memory: Memory) -> None:
    assert parse_memory(_records(memory), "here") == memory


@given(_MEMORIES, _MEMORIES)
def test_the_difference_turns_one_memory_into_the_other(wanted: Memory, found: Memory) -> None:
    records = _records(found)
    for key, value in difference(wanted, found).items():
        records.pop(key, None)
        if value is not None:
            records[key] = value
    assert parse_memory(records, "here") == wanted
    assert difference(wanted, wanted) == {}


@pytest.mark.parametrize(
    "records",
    [
        {"list": {"version": 2}},
        {"list": {"version": 1}},
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


def test_the_memories_of_topic_and_file_are_merged() -> None:
    """The file is used while the topic cannot be written. The revision shows whether the topic was written since."""
    topic = Memory(Blacklist((1,)), "1", 4, {_ONE.topic_partition: _ONE})
    other = RememberedOrder("audit", 0, _ONE.topic_id, (1, 3), ((3, 1),))
    newer = Memory(Blacklist((1, 2)), "1,2", 5, {other.topic_partition: other})
    assert merge(topic, newer) == newer
    assert merge(topic, Memory()) == topic
    assert merge(Memory(), newer) == newer
    older = Memory(Blacklist((7,)), "7", 4, {other.topic_partition: other})
    both = merge(topic, older)
    assert (both.blacklist, both.revision) == (topic.blacklist, 4)
    assert both.orders == {_ONE.topic_partition: _ONE, other.topic_partition: other}
    emptied = Memory(revision=6)
    assert not merge(emptied, older).blacklist


def test_the_file_is_removed_when_it_is_empty(tmp_path: Path) -> None:
    path = memory_path(str(tmp_path), "4L6g3nShT-eMCtK--X86sw")
    assert not read_memory_file(path)
    memory = Memory(Blacklist((1,)), "1", 1, {_ONE.topic_partition: _ONE})
    with FileStore(path) as store:
        store.write(difference(memory, Memory()))
    assert read_memory_file(path) == memory
    with FileStore(path) as store:
        store.write({**list_changes(Memory(revision=2)), **order_changes({}, memory.orders)})
    assert not path.exists()


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = memory_path(str(tmp_path), "4L6g3nShT-eMCtK--X86sw")
    with FileStore(path) as store:
        store.write(list_changes(Memory(Blacklist((1,)), "1", 1)))
        store.write(order_changes({_ONE.topic_partition: _ONE}, [_ONE.topic_partition]))
    path.write_bytes(path.read_bytes().replace(b'"brokers":[1]', b'"brokers":[2]'))
    with pytest.raises(JournalError, match="damaged in record 1"):
        read_memory_file(path)
